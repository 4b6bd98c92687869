// ggscope log DIR: the ops one after the other, as the engine went.
#include "cli/cmd-log.h"

#include <argp.h>
#include <string.h>

#include "analyze/ops/log-rows.h"
#include "base/error.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/verb.h"

// ---- the verb ----

struct arguments {
    const char *          directory;
    struct ggs_log_filter filter;
    enum ggs_log_form     form;
    uint64_t              limit;
    struct ggs_log_order  order;
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

// Amounts largest first, all else ascending.
static const struct {
    const char *         name;
    struct ggs_log_order order;
} orders[] = {{"time", {GGS_LOG_BEGIN, false, 0}},  {"token", {GGS_LOG_TOKEN, false, 0}},
              {"op", {GGS_LOG_OP, false, 0}},       {"tensor", {GGS_LOG_NAME, false, 0}},
              {"layer", {GGS_LOG_LAYER, false, 0}}, {"threads", {GGS_LOG_THREADS, true, 0}},
              {"bytes", {GGS_LOG_BYTES, true, 0}},  {"source", {GGS_LOG_SOURCE, false, 0}},
              {"wait", {GGS_LOG_WAIT, true, 0}},    {"duration", {GGS_LOG_DURATION, true, 0}}};

static void parse_sort(struct arguments * arguments, const char * name, struct argp_state * state) {
    size_t i = 0, n = sizeof(orders) / sizeof(orders[0]);
    while (i < n && strcmp(orders[i].name, name) != 0) i++;
    if (i == n)
        argp_error(
            state,
            "there is no column '%s' to sort by; there are time, token, op, tensor, layer, threads, bytes, source, duration and wait",
            name);
    else
        arguments->order = orders[i].order;
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
    enum ggs_log_column column = arguments->order.column;
    if (column != GGS_LOG_ROW && column != GGS_LOG_BEGIN && column != GGS_LOG_DURATION)
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

struct printing {
    struct ggs_log_writer writer;
    struct ggs_overview   overview;
};

static void print_entry(void * context, uint64_t row, const struct ggs_log_entry * entry) {
    struct printing * printing = context;
    ggs_log_writer_add(&printing->writer, row, entry);
}

// As the engine went. What the limit leaves out is not counted.
static int print_all(struct printing * printing, struct ggs_trace * trace, const struct arguments * arguments,
                     struct ggs_error * error) {
    struct ggs_log *     log;
    struct ggs_log_entry entry;
    uint64_t             n      = 0;
    int                  status = ggs_log_open(&log, trace, &arguments->filter, error);
    while (status >= 0 && n < arguments->limit && !ferror(printing->writer.file) &&
           (status = ggs_log_next(log, &entry, error)) > 0) {
        const struct ggs_overview_run * run = ggs_overview_find(&printing->overview, entry.run);
        if (run != NULL) print_entry(printing, run->first_row + entry.number, &entry);
        n++;
    }
    if (status == 0 && n < arguments->limit) printing->writer.total = (int64_t) n;
    ggs_log_close(log);
    return status < 0 ? status : 0;
}

static int print_sorted(struct printing * printing, struct ggs_trace * trace, const struct arguments * arguments,
                        struct ggs_error * error) {
    struct ggs_log_rows  rows;
    struct ggs_log_order order = arguments->order;
    order.limit                = arguments->limit == UINT64_MAX ? 0 : arguments->limit;
    int status                 = ggs_log_rows_find(&rows, trace, &printing->overview, &arguments->filter, order, error);
    if (status == 0 && arguments->limit > 0)
        status = ggs_log_rows_read(rows.places, rows.n, trace, &arguments->filter, print_entry, printing, error);
    if (status == 0 && order.limit == 0 && arguments->limit > 0) printing->writer.total = (int64_t) rows.n;
    ggs_log_rows_release(&rows);
    return status;
}

static int print_log(struct ggs_trace * trace, const struct arguments * arguments, struct ggs_error * error) {
    struct printing printing;
    int             status = ggs_overview_compute(&printing.overview, trace, error);
    if (status < 0) return status;
    ggs_log_writer_begin(&printing.writer, trace, printing.overview.rows, stdout, arguments->form);
    status = arguments->order.column == GGS_LOG_ROW ? print_all(&printing, trace, arguments, error)
                                                    : print_sorted(&printing, trace, arguments, error);
    if (ggs_log_writer_end(&printing.writer) != 0 && status == 0)
        status = ggs_fail_errno(error, "could not write the log");
    ggs_overview_release(&printing.overview);
    return status;
}

static int print_faults(const struct arguments * arguments, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_fault_log log = {.filter  = &arguments->filter,
                                .form    = arguments->form,
                                .limit   = arguments->limit,
                                .longest = arguments->order.column == GGS_LOG_DURATION};
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

    struct ggs_error error = {0};
    struct ggs_trace trace;
    if (ggs_verb_open(&trace, arguments.directory) < 0) return 1;
    arguments.filter.operands = arguments.form == GGS_LOG_JSON;
    int status = arguments.faults ? print_faults(&arguments, &trace, &error) : print_log(&trace, &arguments, &error);
    if (status < 0) ggs_verb_complain(&error);
    ggs_trace_close(&trace);
    return status < 0 ? 1 : 0;
}
