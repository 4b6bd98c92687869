// ggscope log DIR: the ops one after the other, as the engine went.
#include "cli/log/cmd-log.h"

#include <argp.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/ops/log-rows.h"
#include "analyze/walk/words.h"
#include "base/error.h"
#include "base/number.h"
#include "base/options/nearest.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"

struct arguments {
    struct ggs_input      input;
    struct ggs_log_filter filter;
    uint64_t              limit;
    struct ggs_log_order  order;
    bool                  faults, csv;
};
#define AT(member) offsetof(struct arguments, member)

// Amounts largest first, all else ascending.
static const struct {
    const char *         name;
    struct ggs_log_order order;
} orders[] = {{"time", {GGS_LOG_BEGIN, false, 0}},  {"token", {GGS_LOG_TOKEN, false, 0}},
              {"op", {GGS_LOG_OP, false, 0}},       {"tensor", {GGS_LOG_NAME, false, 0}},
              {"layer", {GGS_LOG_LAYER, false, 0}}, {"threads", {GGS_LOG_THREADS, true, 0}},
              {"bytes", {GGS_LOG_BYTES, true, 0}},  {"source", {GGS_LOG_SOURCE, false, 0}},
              {"wait", {GGS_LOG_WAIT, true, 0}},    {"duration", {GGS_LOG_DURATION, true, 0}}};

static bool take_sort(void * member, const char * text) {
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        if (strcmp(orders[i].name, text) != 0) continue;
        *(struct ggs_log_order *) member = orders[i].order;
        return true;
    }
    return false;
}

static bool take_source(void * member, const char * text) {
    enum ggs_memory_source * source = member;
    for (uint64_t i = GGS_SOURCE_NONE + 1; i < GGS_SOURCE_COUNT; i++) {
        if (strcasecmp(text, ggs_word_source(i)) != 0) continue;
        *source = (enum ggs_memory_source) i;
        return true;
    }
    return false;
}

static bool take_layer(void * member, const char * text) {
    if (strcmp(text, "none") != 0) return ggs_take_layer(member, text);
    *(int *) member = -1;
    return true;
}

static bool take_thread(void * member, const char * text) {
    return ggs_parse_i64(text, 0, INT32_MAX, member);
}

static bool take_buffer(void * member, const char * text) {
    return ggs_parse_u64(text, 1, UINT64_MAX, member);
}

// Page faults belong to threads of the operating system and to addresses: some of what ops are asked about means nothing there.
static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    if (!arguments->faults) return;
    if (arguments->filter.thread >= 0 || arguments->filter.buffer != 0)
        argp_error(state, "--thread and --buffer do not go with --faults");
    enum ggs_log_column column = arguments->order.column;
    if (column != GGS_LOG_ROW && column != GGS_LOG_BEGIN && column != GGS_LOG_DURATION)
        argp_error(state, "page faults are sorted by time or duration");
}

#define EXPECTS_TIME "a time such as 1.5s, 300ms, 20us or 5000 (nanoseconds)"

static const struct ggs_option options[] = {
    {"token", 0, "A..B", "Token steps A to B; 0 is the prompt", 1, AT(filter.first_token), ggs_take_tokens,
     GGS_EXPECTS_TOKENS},
    GGS_OPTIONS_SELECTION(1),
    {"layer", 0, "N", "Ops of layer N, or of none", 1, AT(filter.layer), take_layer,
     "the number of a layer, or none for ops of no layer"},
    {"op", 0, "NAME", "Ops of this name, such as MUL_MAT", 1, AT(filter.op), ggs_take_text, NULL},
    {"tensor", 0, "GLOB", "Ops whose result or operand has a name like this, such as '*attn_q*'", 1, AT(filter.tensor),
     ggs_take_text, NULL},
    {"thread", 0, "N", "Ops that thread N took part in, with its own times", 1, AT(filter.thread), take_thread,
     "the number of a thread, from 0"},
    {"source", 0, "disk|buffer|vram", "Ops with an operand in a mapped file, in a buffer, or in device memory", 1,
     AT(filter.source), take_source, "disk, buffer or vram"},
    {"range", 0, "OFF..OFF", "Ops that touch these bytes of a model file", 1, AT(filter.range_begin), ggs_take_offsets,
     "a range of bytes such as 4096..8192, 64K..1.5M or 1G.., or one offset"},
    {"buffer", 0, "ID", "Ops with an operand in this buffer", 1, AT(filter.buffer), take_buffer,
     "the number of a buffer, from 1"},
    {"since", 0, "TIME", "Not before this time, such as 1.5s", 1, AT(filter.since_ns), ggs_take_time, EXPECTS_TIME},
    {"until", 0, "TIME", "Before this time", 1, AT(filter.until_ns), ggs_take_time, EXPECTS_TIME},
    {"faults", 0, NULL, "Page faults instead of ops: when, where, and how long the thread was held up", 1, AT(faults),
     NULL, NULL},
    {"sort", 0, "COLUMN",
     "By time, token, op, tensor, layer, source; or, largest first, threads, bytes, duration, wait", 2, AT(order),
     take_sort, "time, token, op, tensor, layer, threads, bytes, source, duration or wait"},
    {"limit", 'n', "N", "At most N ops", 2, AT(limit), ggs_take_count, "a number of lines"},
    {"csv", 0, NULL, "As CSV", 3, AT(csv), NULL, NULL},
    {"json", 'j', NULL, "As JSON, with all operands", 3, AT(input.json), NULL, NULL},
    GGS_OPTION_DAMAGED(3),
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

static int print_log(struct ggs_trace * trace, const struct arguments * arguments, enum ggs_log_form form,
                     struct ggs_error * error) {
    struct printing printing;
    int             status = ggs_overview_compute(&printing.overview, trace, error);
    if (status < 0) return status;
    ggs_log_writer_begin(&printing.writer, trace, printing.overview.rows, stdout, form);
    status = arguments->order.column == GGS_LOG_ROW ? print_all(&printing, trace, arguments, error)
                                                    : print_sorted(&printing, trace, arguments, error);
    if (ggs_log_writer_end(&printing.writer) != 0 && status == 0) status = -1;
    ggs_overview_release(&printing.overview);
    return status;
}

static int print_faults(const struct arguments * arguments, enum ggs_log_form form, struct ggs_trace * trace,
                        struct ggs_error * error) {
    struct ggs_fault_log log = {.filter  = &arguments->filter,
                                .form    = form,
                                .limit   = arguments->limit,
                                .longest = arguments->order.column == GGS_LOG_DURATION};
    return ggs_fault_log_print(&log, trace, stdout, error);
}

// ---- what is asked for is there ----

static int check_op(const struct ggs_trace * trace, const char * op, struct ggs_error * error) {
    struct ggs_nearest nearest = {.word = op};
    for (uint64_t i = 0; op != NULL && i < trace->n_ops; i++) {
        if (strcasecmp(trace->op_names[i], op) == 0) return 0;
        if (trace->op_names[i][0] != '\0') ggs_nearest_try(&nearest, trace->op_names[i]);
    }
    const char * likely = op == NULL ? NULL : ggs_nearest_likely(&nearest);
    return op == NULL
               ? 0
               : ggs_fail(error, GGS_ABSENT, "this recording has no op %s%s%s%s; ggscope stats lists those it has", op,
                          likely == NULL ? "" : " (did you mean ", likely == NULL ? "" : likely,
                          likely == NULL ? "" : "?)");
}

static int check_buffer(const struct ggs_trace * trace, uint64_t buffer, struct ggs_error * error) {
    if (buffer == 0 || ggs_trace_buffer(trace, buffer) != NULL) return 0;
    if (trace->n_buffers == 0) return ggs_fail(error, GGS_ABSENT, "this recording has no buffers");
    return ggs_fail(error, GGS_ABSENT,
                    "there is no buffer %" PRIu64 ": this recording has buffers %" PRIu64 " to %" PRIu64, buffer,
                    trace->buffers[0].buffer, trace->buffers[trace->n_buffers - 1].buffer);
}

static int check_thread(struct ggs_trace * trace, int64_t thread, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_lane     lane;
    uint64_t            most = 0;
    if (thread < 0 || ggs_reader_rows(trace->reader, GGS_TABLE_LANES) == 0) return 0;
    int status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_LANES, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &lane, error)) > 0)
        if (lane.queue > most) most = lane.queue;
    ggs_cursor_close(cursor);
    if (status < 0 || (uint64_t) thread <= most) return status;
    return ggs_fail(error, GGS_ABSENT, "there is no thread %" PRId64 ": this recording has threads 0 to %" PRIu64,
                    thread, most);
}

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments * arguments = input;
    enum ggs_log_form  form      = arguments->input.json ? GGS_LOG_JSON : arguments->csv ? GGS_LOG_CSV : GGS_LOG_TEXT;
    int status = ggs_trace_check_steps(traces, arguments->filter.first_token, arguments->filter.last_token, error);
    if (status == 0) status = ggs_trace_check_layer(traces, arguments->filter.layer, error);
    if (status == 0) status = check_op(traces, arguments->filter.op, error);
    if (status == 0) status = check_buffer(traces, arguments->filter.buffer, error);
    if (status == 0) status = check_thread(traces, arguments->filter.thread, error);
    if (status < 0) return status;
    if (arguments->faults) return print_faults(arguments, form, traces, error);
    arguments->filter.operands = form == GGS_LOG_JSON;
    return print_log(traces, arguments, form, error);
}

int cmd_log(int argc, char ** argv) {
    static const struct ggs_verb verb = {
        GGS_OPENS_ONE, .options = options, .check = check, .run = show,
        .text =
            "Show the ops of an experiment one after the other: when, for which token and layer, on how many threads, which bytes from where, how long."};
    struct arguments arguments = {.filter = GGS_LOG_ALL, .limit = UINT64_MAX};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
