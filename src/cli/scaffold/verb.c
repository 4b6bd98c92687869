#include "cli/scaffold/verb.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options/nearest.h"
#include "base/system/file.h"
#include "base/system/guard.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "cli/scaffold/newest.h"
#include "record/sealer.h"

// ---- experiments ----

static int seal(const char * path, bool quiet, struct ggs_error * error) {
    struct stat status;
    ggs_guard_install(); // a file that shrinks while it is read causes an error, not a signal
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) return 0; // a single trace
    return ggs_sealer_recover(path, quiet, NULL, error);
}

int ggs_verb_seal(const char * path, struct ggs_error * error) {
    return seal(path, false, error);
}

int ggs_verb_open(struct ggs_trace * trace, const char * path, const struct ggs_input * input,
                  struct ggs_error * error) {
    int status = seal(path, input->quiet, error);
    if (status >= 0)
        status = input->damaged ? ggs_trace_open_damaged(trace, path, error) : ggs_trace_open(trace, path, error);
    if (status < 0) return status;
    if (ggs_trace_missing(trace) != NULL) fprintf(stderr, "ggscope: %s\n", ggs_trace_missing(trace));
    return 0;
}

// ---- the command line ----

enum { MOST_OPTIONS = 64, MOST_TITLES = 3, FIRST_KEY = 256 };
enum { COMMON_USAGE = 2, COMMON_HELP = 3 };

// Options of every verb, listed after its own. A verb's own letter or name takes precedence.
static const struct ggs_option common[] = {
    GGS_SWITCH("quiet", 'q', "Print errors only on stderr", -1, offsetof(struct ggs_input, quiet)),
    GGS_SWITCH("no-pager", 0, "Write to the terminal without a pager", -1, offsetof(struct ggs_input, no_pager)),
    GGS_SWITCH("usage", 0, "Give a short usage message", -1, 0),
    GGS_SWITCH("help", 'h', "Give this help list", -1, 0),
    {0},
};

// An option of this command line: its key for argp is its letter, or FIRST_KEY and its index.
struct known {
    const struct ggs_option * option;
    size_t                    offset; // of its member
};

struct parsing {
    const struct ggs_verb * verb;
    void *                  arguments;
    struct ggs_input *      input;
    struct known            known[MOST_OPTIONS];
    struct argp_option      table[MOST_OPTIONS + MOST_TITLES + 1];
    struct ggs_text         help[MOST_OPTIONS]; // of options with a fixed set of values
    int                     n, n_table;
};

static bool has_option(const struct parsing * parsing, const char * name, int letter) {
    for (int i = 0; i < parsing->n; i++) {
        const struct ggs_option * option = parsing->known[i].option;
        if ((letter != 0 && option->letter == letter) || (name != NULL && strcmp(option->name, name) == 0)) return true;
    }
    return false;
}

static const char * help_of(struct ggs_text * text, const struct ggs_option * option) {
    if (option->words == NULL) return option->help;
    ggs_text_printf(text, "%s: ", option->help);
    ggs_words_append(text, option->words);
    return ggs_text_string(text);
}

static void add_option(struct parsing * parsing, const struct ggs_option * option, size_t offset, int letter,
                       int group) {
    char * value    = (char *) option->value;
    bool   optional = value != NULL && value[0] == '=';
    int    key      = letter != 0 ? letter : FIRST_KEY + parsing->n;
    if (parsing->n == MOST_OPTIONS) abort(); // a table in the code is too long
    const char * help                  = help_of(&parsing->help[parsing->n], option);
    parsing->known[parsing->n++]       = (struct known){option, offset + option->offset};
    parsing->table[parsing->n_table++] = (struct argp_option){
        option->name, key, optional ? value + 1 : value, optional ? OPTION_ARG_OPTIONAL : 0, help, group};
}

static void add_options(struct parsing * parsing) {
    const struct ggs_verb * verb = parsing->verb;
    for (const struct ggs_option * o = verb->options; o->name != NULL; o++)
        add_option(parsing, o, 0, o->letter, o->group);
    for (int i = 0; i < MOST_TITLES && verb->more[i].options != NULL; i++) {
        parsing->table[parsing->n_table++] = (struct argp_option){.doc = verb->more[i].title, .group = 10 + i};
        for (const struct ggs_option * o = verb->more[i].options; o->name != NULL; o++)
            add_option(parsing, o, verb->more[i].offset, o->letter, 0);
    }
    for (const struct ggs_option * o = common; o->name != NULL; o++) {
        if (!has_option(parsing, o->name, 0))
            add_option(parsing, o, 0, has_option(parsing, NULL, o->letter) ? 0 : o->letter, o->group);
    }
}

static void set_option(const struct parsing * parsing, int key, const char * text, struct argp_state * state) {
    int i = key - FIRST_KEY;
    for (int k = 0; i < 0 && k < parsing->n; k++) {
        if (parsing->known[k].option->letter == key) i = k;
    }
    const struct ggs_option * option = parsing->known[i].option;
    // Both end the program.
    if (option == &common[COMMON_HELP]) argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    if (option == &common[COMMON_USAGE]) argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
    void * member = (char *) parsing->arguments + parsing->known[i].offset;
    if (option->set == NULL) {
        *(bool *) member = true;
    } else if (!option->set(member, text)) {
        struct ggs_text words = {0};
        if (option->words != NULL) ggs_words_append(&words, option->words);
        argp_error(state, "--%s takes %s, not '%s'", option->name,
                   option->expects != NULL ? option->expects : ggs_text_string(&words), text);
    }
}

static void check_operands(const struct parsing * parsing, struct argp_state * state) {
    const struct ggs_verb * verb  = parsing->verb;
    struct ggs_input *      input = parsing->input;
    if (input->n > verb->most && verb->most > 3) // a list
        argp_error(state, "it takes at most %u arguments, not %zu: %s", verb->most, (size_t) input->n, verb->operands);
    else if (input->n > verb->most)
        argp_error(state, "unexpected argument '%s'", input->paths[verb->most]);
    if (input->n < verb->least) argp_error(state, "missing argument: %s", verb->operands);
    if (verb->check != NULL) verb->check(parsing->arguments, state);
}

static error_t parse(int key, char * text, struct argp_state * state) {
    struct parsing * parsing = state->input;
    switch (key) {
        case ARGP_KEY_ARG:
            return ARGP_ERR_UNKNOWN; // handled together, next
        case ARGP_KEY_ARGS:
            parsing->input->paths = state->argv + state->next;
            parsing->input->n     = (unsigned) (state->argc - state->next);
            return 0;
        case ARGP_KEY_END:
            check_operands(parsing, state);
            return 0;
        case ARGP_KEY_INIT:
        case ARGP_KEY_NO_ARGS:
        case ARGP_KEY_SUCCESS:
        case ARGP_KEY_ERROR:
        case ARGP_KEY_FINI:
            return ARGP_ERR_UNKNOWN;
        default:
            set_option(parsing, key, text, state);
            return 0;
    }
}

// getopt reports an unknown option without a suggestion: scans the words likewise and suggests the
// nearest name.
static void check_names(const struct argp_option * table, int n, bool in_order, int argc, char ** argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char * word = argv[i];
        if (word[0] != '-' || word[1] == '\0') {
            if (in_order) return;
            continue;
        }
        if (word[1] != '-') {
            for (const char * letter = word + 1; *letter != '\0'; letter++) {
                int k = 0;
                while (k < n && table[k].key != *letter) k++;
                if (k == n || table[k].arg == NULL) continue; // getopt reports letters
                i += letter[1] == '\0';                       // its value may follow
                break;
            }
            continue;
        }
        char   name[64];
        size_t length = strcspn(word + 2, "=");
        int    k      = 0;
        if (length >= sizeof(name)) continue;
        memcpy(name, word + 2, length);
        name[length] = '\0';
        while (k < n && (table[k].name == NULL || strncmp(table[k].name, name, length) != 0)) k++;
        if (k == n) {
            struct ggs_nearest nearest = {.word = name};
            for (int m = 0; m < n; m++) {
                if (table[m].name != NULL) ggs_nearest_try(&nearest, table[m].name);
            }
            const char * likely = ggs_nearest_likely(&nearest);
            fprintf(stderr, "%s: there is no option --%s%s%s%s; %s --help lists them\n", argv[0], name,
                    likely == NULL ? "" : " (did you mean --", likely == NULL ? "" : likely, likely == NULL ? "" : "?)",
                    argv[0]);
            exit(2);
        }
        if (table[k].arg != NULL && (table[k].flags & OPTION_ARG_OPTIONAL) == 0 && word[2 + length] == '\0') i++;
    }
}

static int parse_command_line(struct parsing * parsing, int argc, char ** argv) {
    bool in_order = parsing->verb->program;
    add_options(parsing);
    check_names(parsing->table, parsing->n_table, in_order, argc, argv);
    struct argp argp = {parsing->table,      parse, parsing->verb->operands, parsing->verb->text, NULL,
                        parsing->verb->help, NULL};
    // argp's help option has another letter than the one people try first.
    int status = argp_parse(&argp, argc, argv, ARGP_NO_HELP | (in_order ? ARGP_IN_ORDER : 0), NULL, parsing);
    for (int i = 0; i < parsing->n; i++) ggs_text_release(&parsing->help[i]);
    return status;
}

// ---- description of a verb ----

struct ggs_verb ggs_verb_of(int (*function)(int argc, char ** argv)) {
    struct ggs_verb verb = {0};
    function(GGS_VERB_DESCRIBE, (char **) &verb);
    return verb;
}

const struct ggs_option * ggs_verb_next_option(const struct ggs_verb * verb, unsigned * i, const char ** title) {
    const struct ggs_option * lists[MOST_TITLES + 2] = {verb->options, verb->more[0].options, verb->more[1].options,
                                                        verb->more[2].options, common};
    const char * titles[MOST_TITLES + 2] = {NULL, verb->more[0].title, verb->more[1].title, verb->more[2].title, ""};
    unsigned     left                    = (*i)++;
    for (int k = 0; k < MOST_TITLES + 2; k++) {
        for (const struct ggs_option * option = lists[k]; option != NULL && option->name != NULL; option++) {
            if (left-- > 0) continue;
            *title = titles[k];
            return option;
        }
    }
    return NULL;
}

// ---- running ----

static int use_newest(struct ggs_input * input, struct ggs_error * error) {
    int status = ggs_newest_find(input->newest, error);
    if (status != 0) return status;
    if (!input->quiet) fprintf(stderr, "ggscope: %s, the newest recording here\n", input->newest);
    input->own[0] = input->newest;
    input->paths  = input->own;
    input->n      = 1;
    return 0;
}

// Finds the path in a sentence: a whole word, followed by a quote, a colon, more of a path or the
// end.
static const char * find_path(const char * text, const char * path) {
    for (const char * at = text; (at = strstr(at, path)) != NULL; at++) {
        bool begins = at == text || at[-1] == ' ' || at[-1] == '\'';
        if (begins && strchr("':/", at[strlen(path)]) != NULL) return at; // or the end
    }
    return NULL;
}

void ggs_verb_resolve(struct ggs_error * error, const char * path) {
    char here[PATH_MAX];
    if (path == NULL || path[0] == '/' || path[0] == '\0' || strcmp(path, "-") == 0) return;
    const char *at = find_path(error->text, path), *rest = path;
    if (at == NULL || getcwd(here, sizeof(here)) == NULL) return;
    while (rest[0] == '.' && rest[1] == '/') rest += 2;
    struct ggs_text text = {0};
    ggs_text_printf(&text, "%.*s%s/%s%s", (int) (at - error->text), error->text, strcmp(here, "/") == 0 ? "" : here,
                    rest, at + strlen(path));
    if (!text.failed) ggs_fail(error, error->status, "%s", ggs_text_string(&text));
    ggs_text_release(&text);
}

static int open_and_run(const struct ggs_verb * verb, struct ggs_input * input, void * arguments,
                        struct ggs_error * error) {
    enum { MOST_TRACES = 12 };
    struct ggs_trace traces[MOST_TRACES] = {{0}};
    unsigned         opened              = 0;
    int              status              = 0;
    if (verb->least == 0 && !verb->program && !verb->several && input->n == 0) status = use_newest(input, error);
    for (; verb->opens && status == 0 && opened < input->n && opened < MOST_TRACES; opened++)
        status = ggs_verb_open(&traces[opened], input->paths[opened], input, error);
    for (unsigned i = 0; status == 0 && i < opened; i++)
        status = ggs_selection_make(&traces[i].selection, &traces[i], &input->choice, error);
    struct ggs_json json;
    if (input->json) {
        ggs_json_init(&json, ggs_json_to_file, stdout, true);
        input->out = &json;
    }
    if (status == 0) status = verb->run(arguments, traces, error);
    if (input->json && ggs_json_begun(&json) && status >= 0 && ggs_json_finish(&json) != 0) status = -1;
    input->out = NULL;
    // All writers share this sentence.
    bool unwritten = ggs_file_flush(stdout) != 0;
    if (!unwritten) errno = EIO;
    if ((unwritten && status >= 0) || (status < 0 && error->text[0] == '\0'))
        status = ggs_fail_errno(error, "cannot write to standard output");
    for (unsigned i = 0; i < opened; i++) ggs_selection_free(traces[i].selection);
    while (opened > 0) ggs_trace_close(&traces[--opened]);
    for (unsigned i = 0; status < 0 && !verb->program && i < input->n; i++) ggs_verb_resolve(error, input->paths[i]);
    return status;
}

int ggs_verb_run(const struct ggs_verb * verb, int argc, char ** argv, void * arguments) {
    if (argc == GGS_VERB_DESCRIBE) {
        *(struct ggs_verb *) argv = *verb;
        return 0;
    }
    struct ggs_error error   = {0};
    struct parsing   parsing = {.verb = verb, .arguments = arguments, .input = arguments};
    if (parse_command_line(&parsing, argc, argv) != 0) return 2;
    int status = open_and_run(verb, arguments, arguments, &error);
    if (status < 0) fprintf(stderr, "ggscope: %s\n", error.text);
    return status < 0 ? 1 : status;
}

// ---- text ----

// Copies as many whole characters as fit into `columns` columns; returns the end of the copy.
static char * copy_columns(char * to, const char * end, const char * from, const char * stop, size_t columns) {
    while (from < stop) {
        unsigned width;
        size_t   size = ggs_terminal_next(from, (size_t) (stop - from), &width);
        if (width > columns || to + size >= end) break;
        if ((unsigned char) *from < 0x20 || *from == 0x7f) {
            *to++ = '?';
        } else {
            memcpy(to, from, size);
            to += size;
        }
        columns -= width;
        from += size;
    }
    return to;
}

static bool has_control(const char * text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char) *text < 0x20 || *text == 0x7f) return true;
    }
    return false;
}

const char * ggs_verb_fit(char * buffer, size_t size, const char * name, unsigned columns) {
    const char *end = buffer + size, *stop = name + strlen(name), *tail;
    size_t      all = ggs_terminal_columns(name);
    char *      to  = buffer;
    if (ggs_terminal_limit(stdout) == 0) columns = UINT_MAX;
    if (all <= columns && !has_control(name)) return name;
    if (all <= columns) {
        to = copy_columns(to, end, name, stop, columns);
    } else {
        size_t head = columns / 2, skip = all - (columns - head - 1), used = 0;
        for (tail = name; tail < stop && used < skip;) {
            unsigned width;
            tail += ggs_terminal_next(tail, (size_t) (stop - tail), &width);
            used += width;
        }
        to = copy_columns(to, end - 4, name, stop, head);
        memcpy(to, "…", 3);
        to = copy_columns(to + 3, end, tail, stop, columns);
    }
    *to = '\0';
    return buffer;
}
