#include "cli/verb.h"

#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/guard.h"
#include "base/number.h"
#include "base/terminal.h"
#include "record/experiment.h"
#include "record/sealing.h"

// ---- experiments ----

int ggs_verb_seal(const char * path, struct ggs_error * error) {
    struct stat status;
    ggs_guard_install(); // a file that shrinks while it is read is an error, not a signal
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        return 0; // a trace by itself, as somebody else may have sent it
    return ggs_seal_recover(path, false, NULL, error);
}

static int open_trace(struct ggs_trace * trace, const char * path, bool damaged, struct ggs_error * error) {
    int status = ggs_verb_seal(path, error);
    if (status >= 0) status = damaged ? ggs_trace_open_damaged(trace, path, error) : ggs_trace_open(trace, path, error);
    if (status < 0) return status;
    const char * warning = ggs_reader_warning(trace->reader);
    if (warning != NULL) fprintf(stderr, "ggscope: %s\n", warning);
    if (trace->damaged > 0)
        fprintf(stderr, "ggscope: %s: %" PRIu64 " damaged chunk%s left out: every figure is of what is intact\n", path,
                trace->damaged, trace->damaged == 1 ? " is" : "s are");
    return 0;
}

void ggs_verb_complain(const struct ggs_error * error) {
    fprintf(stderr, "ggscope: %s\n", error->text);
}

char * ggs_verb_uuid(char text[GGS_UUID_LENGTH], const struct ggs_trace * trace) {
    return ggs_uuid_format(text, ggs_reader_uuid(trace->reader));
}

static bool later(const struct timespec * a, const struct timespec * b) {
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

// The newest below ./experiments, where `ggscope run` and `ggscope record` put them.
static bool find_newest(char newest[PATH_MAX]) {
    DIR *           folder = opendir("experiments");
    struct timespec best   = {0};
    newest[0]              = '\0';
    for (struct dirent * entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char        path[PATH_MAX];
        struct stat info;
        if (entry->d_name[0] == '.' ||
            snprintf(path, sizeof(path), "experiments/%s", entry->d_name) >= (int) sizeof(path))
            continue;
        if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode) || !ggs_experiment_is_one(path)) continue;
        if (newest[0] != '\0' && !later(&info.st_mtim, &best)) continue;
        best = info.st_mtim;
        memcpy(newest, path, strlen(path) + 1);
    }
    if (folder != NULL) closedir(folder);
    return newest[0] != '\0';
}

// ---- values of options ----

enum { MOST_NUMBER_TEXT = 40 };

// Cuts "A..B" in two. `b` is NULL if there is no "..".
static bool cut(const char * text, char a[MOST_NUMBER_TEXT], const char ** b) {
    const char * dots   = strstr(text, "..");
    size_t       length = dots == NULL ? strlen(text) : (size_t) (dots - text);
    if (length >= MOST_NUMBER_TEXT) return false;
    memcpy(a, text, length);
    a[length] = '\0';
    *b        = dots == NULL ? NULL : dots + 2;
    return length > 0 || dots != NULL;
}

bool ggs_take_tokens(void * member, const char * text) {
    int64_t *    range = member;
    char         a[MOST_NUMBER_TEXT];
    const char * b;
    range[0] = 0, range[1] = INT64_MAX;
    if (!cut(text, a, &b)) return false;
    if (a[0] != '\0' && !ggs_parse_i64(a, 0, INT64_MAX, &range[0])) return false;
    if (b == NULL) {
        range[1] = range[0];
        return true;
    }
    return (b[0] == '\0' || ggs_parse_i64(b, 0, INT64_MAX, &range[1])) && range[0] <= range[1];
}

bool ggs_take_offsets(void * member, const char * text) {
    uint64_t *   range = member;
    char         a[MOST_NUMBER_TEXT];
    const char * b;
    range[0] = 0, range[1] = UINT64_MAX;
    if (!cut(text, a, &b)) return false;
    if (a[0] != '\0' && !ggs_parse_bytes(a, &range[0])) return false;
    if (b == NULL) {
        if (range[0] == UINT64_MAX) return false;
        range[1] = range[0] + 1;
        return true;
    }
    return (b[0] == '\0' || ggs_parse_bytes(b, &range[1])) && range[0] < range[1];
}

bool ggs_take_time(void * member, const char * text) {
    static const struct {
        const char * name;
        double       ns;
    } units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char * end;
    if (text[0] < '0' || text[0] > '9') return false;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].name) != 0) continue;
        value *= units[i].ns;
        if (!(value < 9.2e18)) return false;
        *(int64_t *) member = (int64_t) value;
        return true;
    }
    return false;
}

bool ggs_take_text(void * member, const char * text) {
    *(const char **) member = text;
    return true;
}

bool ggs_take_count(void * member, const char * text) {
    return ggs_parse_u64(text, 0, UINT64_MAX, member);
}

bool ggs_take_size(void * member, const char * text) {
    return ggs_parse_bytes(text, member);
}

bool ggs_take_chosen(void * member, const char * text) {
    int64_t number;
    if (!ggs_take_index(&number, text)) return false;
    *(uint64_t *) member = (uint64_t) number + 1;
    return true;
}

bool ggs_take_index(void * member, const char * text) {
    return ggs_parse_i64(text, 0, INT64_MAX, member);
}

bool ggs_take_layer(void * member, const char * text) {
    int64_t layer;
    if (!ggs_parse_i64(text, 0, INT_MAX, &layer)) return false;
    *(int *) member = (int) layer;
    return true;
}

// ---- the command line ----

enum { MOST_OPTIONS = 32, FIRST_KEY = 256 };

struct parsing {
    const struct ggs_verb * verb;
    void *                  arguments;
    struct ggs_input *      input;
};

static void take_option(const struct parsing * parsing, int key, const char * text, struct argp_state * state) {
    const struct ggs_option * option = parsing->verb->options;
    while (key != FIRST_KEY + (int) (option - parsing->verb->options) && key != option->letter) option++;
    void * member = (char *) parsing->arguments + option->offset;
    if (option->take == NULL) {
        *(bool *) member = true;
    } else if (!option->take(member, text)) {
        argp_error(state, "--%s takes %s, not '%s'", option->name, option->expects, text);
    }
}

static void check_operands(const struct parsing * parsing, struct argp_state * state) {
    const struct ggs_verb * verb  = parsing->verb;
    struct ggs_input *      input = parsing->input;
    if (input->n > verb->most) argp_error(state, "unexpected argument '%s'", input->paths[verb->most]);
    if (input->n < verb->least) argp_error(state, "missing argument: %s", verb->operands);
    if (verb->check != NULL) verb->check(parsing->arguments, state);
}

static error_t parse(int key, char * text, struct argp_state * state) {
    struct parsing * parsing = state->input;
    switch (key) {
        case ARGP_KEY_ARG:
            return ARGP_ERR_UNKNOWN; // all of them together, next
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
            take_option(parsing, key, text, state);
            return 0;
    }
}

static int parse_command_line(const struct parsing * parsing, int argc, char ** argv) {
    struct argp_option table[MOST_OPTIONS + 1] = {0};
    for (int i = 0; i < MOST_OPTIONS && parsing->verb->options[i].name != NULL; i++) {
        const struct ggs_option * option = &parsing->verb->options[i];
        table[i] = (struct argp_option){option->name,  option->letter != 0 ? option->letter : FIRST_KEY + i,
                                        option->value, 0,
                                        option->help,  option->group};
    }
    struct argp argp = {table, parse, parsing->verb->operands, parsing->verb->text, NULL, parsing->verb->help, NULL};
    return argp_parse(&argp, argc, argv, parsing->verb->program ? ARGP_IN_ORDER : 0, NULL, (void *) parsing);
}

// ---- running ----

static int take_newest(struct ggs_input * input, struct ggs_error * error) {
    if (!find_newest(input->newest))
        return ggs_fail(error, GGS_ABSENT,
                        "there is no recording in ./experiments; name a directory, or record one: ggscope run -m "
                        "MODEL.gguf -p \"Once upon a time\" -n 16");
    fprintf(stderr, "ggscope: %s, the newest recording here\n", input->newest);
    input->own[0] = input->newest;
    input->paths  = input->own;
    input->n      = 1;
    return 0;
}

static int open_and_run(const struct ggs_verb * verb, struct ggs_input * input, void * arguments,
                        struct ggs_error * error) {
    enum { MOST_TRACES = 2 };
    struct ggs_trace traces[MOST_TRACES] = {{0}, {0}};
    unsigned         opened              = 0;
    int              status              = 0;
    if (verb->least == 0 && !verb->program && !verb->several && input->n == 0) status = take_newest(input, error);
    for (; verb->opens && status == 0 && opened < input->n && opened < MOST_TRACES; opened++)
        status = open_trace(&traces[opened], input->paths[opened], input->damaged, error);
    for (unsigned i = 0; status == 0 && i < opened; i++)
        status = ggs_selection_make(&traces[i].selection, &traces[i], &input->choice, error);
    if (status == 0) status = verb->run(arguments, traces, error);
    // Writers fail without a sentence: it is always the same one.
    errno          = 0;
    bool unwritten = fflush(stdout) != 0 || ferror(stdout);
    if (errno == 0) errno = EIO;
    if ((unwritten && status >= 0) || (status < 0 && error->text[0] == '\0'))
        status = ggs_fail_errno(error, "cannot write to standard output");
    for (unsigned i = 0; i < opened; i++) ggs_selection_free(traces[i].selection);
    while (opened > 0) ggs_trace_close(&traces[--opened]);
    return status;
}

int ggs_verb_run(const struct ggs_verb * verb, int argc, char ** argv, void * arguments) {
    struct ggs_error error   = {0};
    struct parsing   parsing = {.verb = verb, .arguments = arguments, .input = arguments};
    if (parse_command_line(&parsing, argc, argv) != 0) return 2;
    int status = open_and_run(verb, arguments, arguments, &error);
    if (status < 0) ggs_verb_complain(&error);
    return status == 0 ? 0 : 1;
}

// ---- text ----

// Copies as many whole characters as `columns` columns take; returns the end of the copy.
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
