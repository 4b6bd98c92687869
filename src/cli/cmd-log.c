// ggscope log DIR: the ops one after the other, as the engine went.
#include "cli/cmd-log.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/verb.h"

// ---- sorting ----

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_time(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(a->begin_ns, b->begin_ns);
}
static int by_token(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(a->token, b->token);
}
static int by_op(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return strcmp(a->op, b->op);
}
static int by_tensor(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return strcmp(a->tensor, b->tensor);
}
static int by_layer(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(a->layer, b->layer);
}
static int by_threads(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(b->threads, a->threads);
}
static int by_bytes(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(b->read + b->written, a->read + a->written);
}
static int by_duration(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(b->end_ns - b->begin_ns, a->end_ns - a->begin_ns);
}
static int by_wait(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(b->wait_ns, a->wait_ns);
}
// Files before buffers, each by where the data lies.
static int by_source(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    const struct ggs_tensor *x = a->main.tensor, *y = b->main.tensor;
    if (x == NULL || y == NULL) return ORDER(x == NULL, y == NULL);
    if (x->source != y->source) return ORDER(x->source, y->source);
    if (x->source == GGS_SOURCE_DISK)
        return x->file != y->file ? ORDER(x->file, y->file)
                                  : ORDER(x->file_offset + a->main.first, y->file_offset + b->main.first);
    return x->buffer != y->buffer ? ORDER(x->buffer, y->buffer) : ORDER(x->buffer_offset, y->buffer_offset);
}

typedef int (*comparison)(const struct ggs_log_entry * a, const struct ggs_log_entry * b);

static const struct {
    const char * name;
    comparison   compare;
} sort_columns[] = {
    {"time", by_time},       {"token", by_token}, {"op", by_op},         {"tensor", by_tensor},     {"layer", by_layer},
    {"threads", by_threads}, {"bytes", by_bytes}, {"source", by_source}, {"duration", by_duration}, {"wait", by_wait},
};
enum { N_SORT_COLUMNS = sizeof(sort_columns) / sizeof(sort_columns[0]) };

// The first `limit` entries in the order asked for. Where there is a limit, never more than twice that many are kept.
struct sorted {
    comparison             compare;
    uint64_t               limit;
    struct ggs_log_entry * entries;
    uint64_t               n, capacity;
};

static int compare_entries(const void * a, const void * b, void * compare) {
    const struct ggs_log_entry *x = a, *y = b;
    int                         order = (*(comparison *) compare)(x, y);
    if (order != 0) return order;
    return x->run != y->run ? ORDER(x->run, y->run) : ORDER(x->node, y->node);
}

static void settle(struct sorted * sorted) {
    if (sorted->n == 0) return;
    qsort_r(sorted->entries, sorted->n, sizeof(*sorted->entries), compare_entries, &sorted->compare);
    for (uint64_t i = sorted->limit; i < sorted->n; i++) free(sorted->entries[i].operands);
    if (sorted->n > sorted->limit) sorted->n = sorted->limit;
}

static int keep(struct sorted * sorted, const struct ggs_log_entry * entry, struct ggs_error * error) {
    enum { FEW = 1024 };
    if (sorted->limit < UINT64_MAX / 4 && sorted->n >= 2 * sorted->limit + FEW) settle(sorted);
    if (sorted->n == sorted->capacity) {
        uint64_t               capacity = sorted->capacity == 0 ? FEW : 2 * sorted->capacity;
        struct ggs_log_entry * entries  = realloc(sorted->entries, capacity * sizeof(*entries));
        if (entries == NULL) return ggs_fail_memory(error);
        sorted->entries  = entries;
        sorted->capacity = capacity;
    }
    struct ggs_log_entry * kept = &sorted->entries[sorted->n];
    *kept                       = *entry;
    kept->operands              = NULL;
    if (entry->n_operands > 0) {
        kept->operands = malloc(entry->n_operands * sizeof(*kept->operands));
        if (kept->operands == NULL) return ggs_fail_memory(error);
        memcpy(kept->operands, entry->operands, entry->n_operands * sizeof(*kept->operands));
    }
    sorted->n++;
    return 0;
}

static void release(struct sorted * sorted) {
    for (uint64_t i = 0; i < sorted->n; i++) free(sorted->entries[i].operands);
    free(sorted->entries);
}

// ---- the verb ----

struct arguments {
    const char *          directory;
    struct ggs_log_filter filter;
    enum ggs_log_form     form;
    uint64_t              limit;
    comparison            sort; // NULL: as they come
    bool                  faults;
};

enum {
    OPTION_TOKEN = 256,
    OPTION_LAYER,
    OPTION_OP,
    OPTION_TENSOR,
    OPTION_THREAD,
    OPTION_SOURCE,
    OPTION_RANGE,
    OPTION_BUFFER,
    OPTION_SINCE,
    OPTION_UNTIL,
    OPTION_SORT,
    OPTION_CSV,
    OPTION_FAULTS
};

static void parse_sort(struct arguments * arguments, const char * name, struct argp_state * state) {
    for (int i = 0; i < N_SORT_COLUMNS; i++) {
        if (strcmp(sort_columns[i].name, name) == 0) arguments->sort = sort_columns[i].compare;
    }
    if (arguments->sort == NULL)
        argp_error(
            state,
            "there is no column '%s' to sort by; there are time, token, op, tensor, layer, threads, bytes, source, duration and wait",
            name);
}

static void parse_source(struct ggs_log_filter * filter, const char * name, struct argp_state * state) {
    if (strcasecmp(name, "disk") == 0) {
        filter->source = GGS_SOURCE_DISK;
    } else if (strcasecmp(name, "buffer") == 0) {
        filter->source = GGS_SOURCE_BUFFER;
    } else {
        argp_error(state, "the source is disk or buffer, not '%s'", name);
    }
}

static void parse_filter(int key, struct ggs_log_filter * filter, const char * text, struct argp_state * state) {
    int64_t number;
    switch (key) {
        case OPTION_TOKEN:
            if (!ggs_parse_tokens(text, &filter->first_token, &filter->last_token))
                argp_error(state, "'%s' names no tokens; write 5, 5..9, 5.. or ..9", text);
            return;
        case OPTION_LAYER:
            if (strcmp(text, "none") == 0) {
                filter->layer = -1;
            } else if (ggs_parse_i64(text, 0, INT32_MAX, &number)) {
                filter->layer = (int) number;
            } else {
                argp_error(state, "'%s' is no layer; write a number, or none for ops of no layer", text);
            }
            return;
        case OPTION_OP:
            filter->op = text;
            return;
        case OPTION_TENSOR:
            filter->tensor = text;
            return;
        case OPTION_THREAD:
            if (!ggs_parse_i64(text, 0, INT32_MAX, &filter->thread))
                argp_error(state, "'%s' is no thread; they count from 0", text);
            return;
        case OPTION_SOURCE:
            parse_source(filter, text, state);
            return;
        case OPTION_RANGE:
            if (!ggs_parse_offsets(text, &filter->range_begin, &filter->range_end))
                argp_error(state, "'%s' is no range of bytes; write 4096..8192, 64K..1.5M, 1G.. or one offset", text);
            return;
        case OPTION_BUFFER:
            if (!ggs_parse_u64(text, 1, UINT64_MAX, &filter->buffer))
                argp_error(state, "'%s' is no buffer; they count from 1", text);
            return;
        case OPTION_SINCE:
            if (!ggs_parse_time(text, &filter->since_ns))
                argp_error(state, "'%s' is no time; write 1.5s, 300ms, 20us or nanoseconds", text);
            return;
        case OPTION_UNTIL:
            if (!ggs_parse_time(text, &filter->until_ns))
                argp_error(state, "'%s' is no time; write 1.5s, 300ms, 20us or nanoseconds", text);
            return;
        default:
            return;
    }
}

// Page faults belong to threads of the operating system and to addresses: some of what ops are asked about means nothing there.
static void check_faults(const struct arguments * arguments, struct argp_state * state) {
    if (arguments->filter.thread >= 0 || arguments->filter.buffer != 0)
        argp_error(state, "--thread and --buffer do not go with --faults");
    if (arguments->sort != NULL && arguments->sort != by_time && arguments->sort != by_duration)
        argp_error(state, "page faults are sorted by time or duration");
}

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct arguments * arguments = state->input;
    switch (key) {
        case 'j':
            arguments->form = GGS_LOG_JSON;
            return 0;
        case OPTION_CSV:
            arguments->form = GGS_LOG_CSV;
            return 0;
        case 'n':
            if (!ggs_parse_u64(argument, 0, UINT64_MAX, &arguments->limit))
                argp_error(state, "'%s' is no number of lines", argument);
            return 0;
        case OPTION_SORT:
            parse_sort(arguments, argument, state);
            return 0;
        case OPTION_FAULTS:
            arguments->faults = true;
            return 0;
        case ARGP_KEY_ARG:
            if (arguments->directory != NULL)
                argp_error(state, "one experiment at a time, please: '%s' is too much", argument);
            arguments->directory = argument;
            return 0;
        case ARGP_KEY_END:
            if (arguments->directory == NULL) argp_error(state, "which experiment? Give its directory");
            if (arguments->faults) check_faults(arguments, state);
            return 0;
        default:
            if (key < OPTION_TOKEN || key > OPTION_UNTIL) return ARGP_ERR_UNKNOWN;
            parse_filter(key, &arguments->filter, argument, state);
            return 0;
    }
}

static const struct argp_option options[] = {
    {"token", OPTION_TOKEN, "A..B", 0, "Token steps A to B; 0 is the prompt", 1},
    {"layer", OPTION_LAYER, "N", 0, "Ops of layer N, or of none", 1},
    {"op", OPTION_OP, "NAME", 0, "Ops of this name, such as MUL_MAT", 1},
    {"tensor", OPTION_TENSOR, "GLOB", 0, "Ops whose result or operand has a name like this, such as '*attn_q*'", 1},
    {"thread", OPTION_THREAD, "N", 0, "Ops that thread N took part in, with its own times", 1},
    {"source", OPTION_SOURCE, "disk|buffer", 0, "Ops with an operand in a mapped file, or in a buffer", 1},
    {"range", OPTION_RANGE, "OFF..OFF", 0, "Ops that touch these bytes of a model file", 1},
    {"buffer", OPTION_BUFFER, "ID", 0, "Ops with an operand in this buffer", 1},
    {"since", OPTION_SINCE, "TIME", 0, "Not before this time, such as 1.5s", 1},
    {"until", OPTION_UNTIL, "TIME", 0, "Before this time", 1},
    {"faults", OPTION_FAULTS, NULL, 0, "Page faults instead of ops: when, where, and how long the thread was held up",
     1},
    {"sort", OPTION_SORT, "COLUMN", 0,
     "By time, token, op, tensor, layer, source; or, largest first, threads, bytes, duration, wait", 2},
    {"limit", 'n', "N", 0, "At most N ops", 2},
    {"csv", OPTION_CSV, NULL, 0, "As CSV", 3},
    {"json", 'j', NULL, 0, "As JSON, with all operands", 3},
    {0}};

static int print_log(struct ggs_log * log, const struct arguments * arguments, struct ggs_log_writer * writer,
                     struct ggs_error * error) {
    struct ggs_log_entry entry;
    struct sorted        sorted = {.compare = arguments->sort, .limit = arguments->limit};
    uint64_t             n      = 0;
    int                  status = 0;
    while ((sorted.compare != NULL || n < arguments->limit) && !ferror(writer->file) &&
           (status = ggs_log_next(log, &entry, error)) > 0) {
        if (sorted.compare == NULL) {
            ggs_log_writer_add(writer, &entry);
            n++;
        } else if ((status = keep(&sorted, &entry, error)) < 0) {
            break;
        }
    }
    settle(&sorted);
    for (uint64_t i = 0; status >= 0 && i < sorted.n; i++) ggs_log_writer_add(writer, &sorted.entries[i]);
    release(&sorted);
    return status < 0 ? status : 0;
}

static int print_faults(const struct arguments * arguments, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_fault_log log = {.filter  = &arguments->filter,
                                .form    = arguments->form,
                                .limit   = arguments->limit,
                                .longest = arguments->sort == by_duration};
    return ggs_fault_log_print(&log, trace, stdout, error);
}

int cmd_log(int argc, char ** argv) {
    static const struct argp argp = {
        options,
        parse_option,
        "DIR",
        "Show the ops of an experiment one after the other: when, for which token and layer, on how many threads, which bytes from where, how long.",
        NULL,
        NULL,
        NULL};
    struct arguments arguments = {.filter = GGS_LOG_ALL, .limit = UINT64_MAX};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) return 2;

    struct ggs_error      error = {0};
    struct ggs_trace      trace;
    struct ggs_log *      log = NULL;
    struct ggs_log_writer writer;
    if (ggs_verb_open(&trace, arguments.directory) < 0) return 1;
    arguments.filter.operands = arguments.form == GGS_LOG_JSON;
    int status                = arguments.faults ? print_faults(&arguments, &trace, &error)
                                                 : ggs_log_open(&log, &trace, &arguments.filter, &error);
    if (status == 0 && !arguments.faults) {
        ggs_log_writer_begin(&writer, &trace, stdout, arguments.form);
        status = print_log(log, &arguments, &writer, &error);
        if (ggs_log_writer_end(&writer) != 0 && status == 0) status = ggs_fail_errno(&error, "could not write the log");
    }
    if (status < 0) ggs_verb_complain(&error);
    ggs_log_close(log);
    ggs_trace_close(&trace);
    return status < 0 ? 1 : 0;
}
