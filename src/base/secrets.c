#include "base/secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- names ----

enum { NAME_MOST = 64 };

static bool is_one_of(const char * word, const char * const * list) {
    while (*list != NULL && strcmp(word, *list) != 0) list++;
    return *list != NULL;
}

// Finds the last two words of a name, in lower case: "AWS_SECRET_ACCESS_KEY" has "access" and
// "key". False if it is not a name.
static bool split_name(const char * name, size_t length, char copy[NAME_MOST], const char ** before,
                       const char ** last) {
    while (length > 0 && *name == '-') name++, length--;
    if (length == 0) return false;
    if (length >= NAME_MOST) name += length - (NAME_MOST - 1), length = NAME_MOST - 1;
    *before = "", *last = copy;
    for (size_t i = 0; i < length; i++) {
        bool divides = name[i] == '-' || name[i] == '_' || name[i] == '.';
        if (!divides && !isalnum((unsigned char) name[i])) return false;
        copy[i] = divides ? '\0' : (char) tolower((unsigned char) name[i]);
        if (divides) *before = *last, *last = copy + i + 1;
    }
    copy[length] = '\0';
    return true;
}

static enum ggs_secret_name judge_name(const char * name, size_t length) {
    static const char * const always[]   = {"secret",      "secrets",       "password", "passwd",
                                            "passphrase",  "apikey",        "apikeys",  "credential",
                                            "credentials", "authorization", "hft",      NULL};
    static const char * const keys[]     = {"key", "keys", NULL};
    static const char * const harmless[] = {"public",  "sort",    "cache",     "group",
                                            "primary", "foreign", "partition", NULL};
    static const char * const tokens[]   = {"token", "tokens", NULL};
    static const char * const given[]    = {"access", "auth", "api", "hf", "bearer", "refresh", "id", "session", NULL};
    static const char * const parts[]    = {"stop",  "eos",  "bos", "eot",   "pad",   "mask", "end", "start", "begin",
                                            "unk",   "sep",  "cls", "image", "n",     "max",  "min", "num",   "special",
                                            "first", "last", "nl",  "fim",   "draft", "new",  "per", NULL};
    static const char * const perhaps[]  = {"auth", "pass", "pwd", "signature", "sig", "bearer", NULL};
    char                      copy[NAME_MOST];
    const char *              before, *last;
    if (!split_name(name, length, copy, &before, &last)) return GGS_SECRET_NO;
    if (is_one_of(last, always)) return GGS_SECRET_YES;
    if (is_one_of(last, keys))
        return before[0] == '\0' ? GGS_SECRET_PERHAPS : is_one_of(before, harmless) ? GGS_SECRET_NO : GGS_SECRET_YES;
    if (is_one_of(last, tokens))
        return is_one_of(before, given)   ? GGS_SECRET_YES
               : is_one_of(before, parts) ? GGS_SECRET_NO
                                          : GGS_SECRET_PERHAPS;
    return is_one_of(last, perhaps) ? GGS_SECRET_PERHAPS : GGS_SECRET_NO;
}

// ---- values ----

// True unless the value is a number, a path or short.
static bool looks_secret(const char * value, size_t length) {
    enum { SHORT = 8 };
    if (length < SHORT || strspn(value, "0123456789.,:+-%kKmMgGx") >= length) return false;
    return value[0] != '/' && value[0] != '~' && strncmp(value, "./", 2) != 0 && strncmp(value, "../", 3) != 0;
}

static bool is_secret(enum ggs_secret_name name, const char * value, size_t length) {
    return length > 0 && (name == GGS_SECRET_YES || (name == GGS_SECRET_PERHAPS && looks_secret(value, length)));
}

bool ggs_secrets_is(const char * name, size_t length, const char * value) {
    return is_secret(judge_name(name, length), value, strlen(value));
}

// Tokens with a known prefix.
static size_t known_token(const char * text) {
    static const char * const begins[] = {"sk-",    "hf_",   "ghp_",  "gho_", "ghs_", "github_pat_",
                                          "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza", "eyJ"};
    enum { LEAST = 20 };
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        if (strncmp(text, begins[i], strlen(begins[i])) != 0) continue;
        size_t length = strspn(text, letters);
        while (strcmp(begins[i], "eyJ") == 0 && text[length] == '.') length += 1 + strspn(text + length + 1, letters);
        bool digit = strcspn(text + strlen(begins[i]), "0123456789") < length - strlen(begins[i]);
        return length >= LEAST && digit ? length : 0;
    }
    return 0;
}

// ---- texts ----

struct copy {
    struct ggs_secrets * secrets;
    char *               to;
};

static void keep(struct copy * copy, const char * text, size_t length) {
    memcpy(copy->to, text, length);
    copy->to += length;
}

static void hide(struct copy * copy) {
    keep(copy, GGS_SECRET, sizeof(GGS_SECRET) - 1);
    copy->secrets->hidden++;
}

// Hides the user and password before the @ of a URL, whose "://" ends at `at`.
static const char * copy_user(struct copy * copy, const char * at) {
    enum { MOST_USER = 16 };
    size_t length = strcspn(at, "@/?# \t\n\"'");
    if (at[length] != '@') return at;
    const char * colon = memchr(at, ':', length);
    if (colon == NULL && length < MOST_USER) return at; // a user without a password, not a token
    if (colon != NULL) keep(copy, at, (size_t) (colon + 1 - at));
    hide(copy);
    return at + length;
}

static bool follows(const char * at, const char * word) {
    return strncasecmp(at, word, strlen(word)) == 0;
}

// Hides the value of a header such as "Authorization: Bearer x", up to the end of the line or the
// closing quote. Names that are also words of prose count only at the beginning of a text.
static const char * copy_header(struct copy * copy, const char * at, bool first) {
    static const char * const names[] = {"authorization:", "x-api-key:", "api-key:", "cookie:"};
    static const char * const kinds[] = {"bearer ", "basic ", "token "};
    for (size_t i = 0; i < (first ? 4 : 2); i++) {
        if (!follows(at, names[i])) continue;
        size_t length = strlen(names[i]);
        length += strspn(at + length, " \t");
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
            if (follows(at + length, kinds[k])) length += strlen(kinds[k]);
        size_t value = strcspn(at + length, "\n\"'");
        if (value == 0) return at;
        keep(copy, at, length);
        hide(copy);
        return at + length + value;
    }
    return at;
}

static bool is_name(char c) {
    return isalnum((unsigned char) c) || c == '_' || c == '-' || c == '.';
}

// Hides the value of NAME=VALUE in a URL or script, or of "NAME": "VALUE". `at` is the start of the
// name.
static const char * copy_assigned(struct copy * copy, const char * at) {
    size_t name = 0;
    while (is_name(at[name])) name++;
    const char * value = at + name;
    bool         quote = *value == '"' || *value == '\'';
    if (quote) value++;
    value += strspn(value, " ");
    if (name == 0 || (*value != '=' && !(quote && *value == ':'))) return at;
    value++;
    if (quote) value += strspn(value, " ");
    char end[2] = {*value == '"' || *value == '\'' ? *value : '\0'};
    if (end[0] != '\0') value++;
    size_t length = strcspn(value, end[0] != '\0' ? end : "&# \t\n\"';,)}");
    if (!is_secret(judge_name(at, name), value, length)) return at;
    keep(copy, at, (size_t) (value - at));
    hide(copy);
    return value + length;
}

// Copies a text that is not an option, hiding secrets in URLs, headers, assignments and tokens.
static void copy_text(struct copy * copy, const char * text) {
    bool begins = true; // true at the start of a word
    for (const char * at = text; *at != '\0';) {
        const char * after = at;
        if (begins && known_token(at) > 0) {
            hide(copy);
            after = at + known_token(at);
        }
        if (after == at) after = copy_header(copy, at, at == text);
        if (after == at && begins) after = copy_assigned(copy, at);
        if (after == at && at - text >= 3 && strncmp(at - 3, "://", 3) == 0) after = copy_user(copy, at);
        if (after > at) {
            at     = after;
            begins = false;
            continue;
        }
        begins      = !is_name(*at);
        *copy->to++ = *at++;
    }
}

// Copies one word of a command line, without quotes.
static void copy_word(struct copy * copy, const char * word) {
    struct ggs_secrets * secrets = copy->secrets;
    size_t               length  = strlen(word);
    enum ggs_secret_name value   = secrets->value;
    bool                 option  = length > 1 && word[0] == '-' && !isdigit((unsigned char) word[1]);
    secrets->value               = GGS_SECRET_NO;
    if (value != GGS_SECRET_NO && !(option && word[1] == '-') && is_secret(value, word, length)) {
        hide(copy);
        return;
    }
    const char * equals = memchr(word, '=', length);
    size_t       name   = equals == NULL ? length : (size_t) (equals - word);
    if (option && equals == NULL) secrets->value = judge_name(word, length);
    if (equals != NULL && is_secret(judge_name(word, name), equals + 1, length - name - 1)) {
        keep(copy, word, name + 1);
        hide(copy);
        return;
    }
    copy_text(copy, word);
}

// Copies the words of a shell script. False if out of memory.
static bool copy_script(struct copy * copy, const char * text) {
    copy->secrets->value = GGS_SECRET_NO;
    while (*text != '\0') {
        size_t space = strspn(text, " \t\n;|&()");
        keep(copy, text, space);
        text += space;
        char   quote  = *text == '"' || *text == '\'' ? *text : '\0';
        size_t length = strcspn(text, " \t\n;|&()");
        if (quote != '\0') {
            const char * end = strchr(text + 1, quote);
            length           = end == NULL ? strlen(text) - 1 : (size_t) (end - text - 1);
            *copy->to++      = *text++;
        }
        char * word = strndup(text, length);
        if (word == NULL) return false;
        copy_word(copy, word);
        free(word);
        text += length;
        if (quote != '\0' && *text == quote) *copy->to++ = *text++;
    }
    copy->secrets->value = GGS_SECRET_NO;
    return true;
}

static bool takes_script(const char * word) {
    static const char * const options[] = {"-c", "-lc", "-ec", "-xc", "-exc", "-euc", "-S", NULL};
    return is_one_of(word, options);
}

char * ggs_secrets_hide(struct ggs_secrets * secrets, const char * word) {
    size_t length = strlen(word), most = 0;
    // A hidden value has at least one character and becomes GGS_SECRET.
    if (__builtin_mul_overflow(length + 1, sizeof(GGS_SECRET), &most)) return NULL;
    char * hidden = malloc(most);
    if (hidden == NULL) return NULL;
    struct copy copy = {secrets, hidden};
    if (!secrets->script) {
        copy_word(&copy, word);
    } else if (!copy_script(&copy, word)) {
        free(hidden);
        return NULL;
    }
    *copy.to        = '\0';
    secrets->script = takes_script(word);
    return hidden;
}
