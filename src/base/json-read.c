#include "base/json-read.h"

#include <stdio.h>
#include <string.h>

// ---- validating: each returns the end of what it read, NULL if the text is invalid ----

static const char * skip_blanks(const char * at, const char * end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int hexadecimal(char c) {
    if (is_digit(c)) return c - '0';
    c = (char) (c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Returns the 16 bits of four hexadecimal digits, -1 if they are not digits.
static long read_unit(const char * at, const char * end) {
    long unit = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hexadecimal(at[i]);
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static const char * skip_string(const char * at, const char * end) {
    for (at++; at < end && *at != '"'; at++) {
        if ((unsigned char) *at < 0x20) return NULL;
        if (*at != '\\') continue;
        if (++at == end || strchr("\"\\/bfnrtu", *at) == NULL || *at == '\0') return NULL;
        if (*at == 'u' && read_unit(at + 1, end) < 0) return NULL;
    }
    return at < end ? at + 1 : NULL;
}

static const char * skip_digits(const char * at, const char * end) {
    const char * from = at;
    while (at < end && is_digit(*at)) at++;
    return at == from ? NULL : at;
}

static const char * skip_number(const char * at, const char * end) {
    if (*at == '-') at++;
    bool zero = at < end && *at == '0';
    at        = zero ? at + 1 : skip_digits(at, end);
    if (at != NULL && at < end && *at == '.') at = skip_digits(at + 1, end);
    if (at != NULL && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        at = skip_digits(at, end);
    }
    return at;
}

static const char * skip_word(const char * at, const char * end) {
    static const char * const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);
        if ((size_t) (end - at) >= length && memcmp(at, words[i], length) == 0) return at + length;
    }
    return NULL;
}

static const char * skip_value(const char * at, const char * end, unsigned depth);

static const char * skip_list(const char * at, const char * end, unsigned depth) {
    bool object = *at == '{';
    char closer = object ? '}' : ']';
    if (depth == GGS_JSON_READ_DEPTH) return NULL;
    at = skip_blanks(at + 1, end);
    if (at < end && *at == closer) return at + 1;
    for (;;) {
        if (object) {
            at = at < end && *at == '"' ? skip_string(at, end) : NULL;
            if (at != NULL) at = skip_blanks(at, end);
            if (at == NULL || at == end || *at != ':') return NULL;
            at = skip_blanks(at + 1, end);
        }
        at = skip_value(at, end, depth + 1);
        if (at == NULL) return NULL;
        at = skip_blanks(at, end);
        if (at == end || (*at != ',' && *at != closer)) return NULL;
        if (*at == closer) return at + 1;
        at = skip_blanks(at + 1, end);
    }
}

static const char * skip_value(const char * at, const char * end, unsigned depth) {
    if (at == end) return NULL;
    if (*at == '{' || *at == '[') return skip_list(at, end, depth);
    if (*at == '"') return skip_string(at, end);
    return *at == '-' || is_digit(*at) ? skip_number(at, end) : skip_word(at, end);
}

struct ggs_json_value ggs_json_read(const char * text, size_t length) {
    const char *end = text + length, *at = skip_blanks(text, end), *after = skip_value(at, end, 0);
    if (after == NULL || skip_blanks(after, end) != end) return (struct ggs_json_value){0};
    return (struct ggs_json_value){at, after};
}

// ---- lookups: the text is known to be valid ----

static bool begins_with(struct ggs_json_value value, char c) {
    return value.at != NULL && *value.at == c;
}

bool ggs_json_is_there(struct ggs_json_value value) {
    return value.at != NULL && !begins_with(value, 'n');
}

struct ggs_json_value ggs_json_member(struct ggs_json_value object, const char * key) {
    size_t length = strlen(key);
    if (!begins_with(object, '{')) return (struct ggs_json_value){0};
    const char * at = skip_blanks(object.at + 1, object.end);
    while (*at == '"') {
        const char * after = skip_string(at, object.end);
        const char * begin = skip_blanks(skip_blanks(after, object.end) + 1, object.end); // behind the colon
        const char * end   = skip_value(begin, object.end, 0);
        if ((size_t) (after - at) == length + 2 && memcmp(at + 1, key, length) == 0)
            return (struct ggs_json_value){begin, end};
        at = skip_blanks(end, object.end);
        if (*at == ',') at = skip_blanks(at + 1, object.end);
    }
    return (struct ggs_json_value){0};
}

bool ggs_json_next(struct ggs_json_value array, struct ggs_json_value * element) {
    if (!begins_with(array, '[')) return false;
    const char * at = skip_blanks(element->at == NULL ? array.at + 1 : element->end, array.end);
    if (*at == ',') at = skip_blanks(at + 1, array.end);
    if (*at == ']') return false;
    *element = (struct ggs_json_value){at, skip_value(at, array.end, 0)};
    return true;
}

bool ggs_json_is_true(struct ggs_json_value value) {
    return begins_with(value, 't');
}

bool ggs_json_to_u64(struct ggs_json_value value, uint64_t * number) {
    uint64_t sum = 0;
    if (value.at == NULL || !is_digit(*value.at)) return false;
    for (const char * at = value.at; at < value.end; at++) {
        if (!is_digit(*at) || __builtin_mul_overflow(sum, (uint64_t) 10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t) (*at - '0'), &sum))
            return false;
    }
    *number = sum;
    return true;
}

static void append_code(struct ggs_text * text, uint32_t code) {
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned                   more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3; // bytes that follow
    ggs_text_putc(text, (char) (lead[more] | code >> 6 * more));
    while (more-- > 0) ggs_text_putc(text, (char) (0x80 | (code >> 6 * more & 0x3f)));
}

// Appends the character of the escape behind "\u" and returns where the escape ends.
static const char * append_units(struct ggs_text * text, const char * at, const char * end) {
    long code = read_unit(at, end), low = -1;
    at += 4;
    if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') low = read_unit(at + 2, end);
    if (low >= 0xdc00 && low < 0xe000) {
        append_code(text, (uint32_t) (0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)));
        return at + 6;
    }
    append_code(text, code >= 0xd800 && code < 0xe000 ? 0xfffd : (uint32_t) code);
    return at;
}

bool ggs_json_append_to(struct ggs_json_value value, struct ggs_text * text) {
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    if (!begins_with(value, '"')) return false;
    const char *at = value.at + 1, *end = value.end - 1;
    while (at < end) {
        const char * plain = memchr(at, '\\', (size_t) (end - at));
        size_t       n     = (size_t) ((plain == NULL ? end : plain) - at);
        ggs_text_append(text, at, n);
        at += n;
        if (at == end) break;
        char         c     = at[1];
        const char * found = strchr(from, c);
        at += 2;
        if (c == 'u')
            at = append_units(text, at, end);
        else
            ggs_text_putc(text, found == NULL ? c : to[found - from]);
    }
    return true;
}

void ggs_json_to_buffer(struct ggs_json_value value, char * buffer, size_t size) {
    struct ggs_text text = {0};
    ggs_json_append_to(value, &text);
    snprintf(buffer, size, "%s", ggs_text_string(&text));
    ggs_text_release(&text);
}
