// ggscope log DIR: ops in time order.
#include "cli/log/cmd-log.h"

#include <argp.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/ops/log-rows.h"
#include "analyze/walk/words.h"
#include "base/error.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/scaffold/op-options.h"

struct arguments {
    struct ggs_input      input;
    struct ggs_log_filter filter;
    uint64_t              limit;
    struct ggs_log_order  order;
    bool                  faults, csv;
};
#define AT(member) offsetof(struct arguments, member)

// Amounts are sorted in descending order, all others ascending.
static const struct {
    const char *         name;
    struct ggs_log_order order;
} orders[] = {{"time", {GGS_LOG_BEGIN, false, 0}},  {"token", {GGS_LOG_TOKEN, false, 0}},
              {"op", {GGS_LOG_OP, false, 0}},       {"tensor", {GGS_LOG_NAME, false, 0}},
              {"layer", {GGS_LOG_LAYER, false, 0}}, {"threads", {GGS_LOG_THREADS, true, 0}},
              {"bytes", {GGS_LOG_BYTES, true, 0}},  {"source", {GGS_LOG_SOURCE, false, 0}},
              {"wait", {GGS_LOG_WAIT, true, 0}},    {"duration", {GGS_LOG_DURATION, true, 0}}};

static struct ggs_word sort_words(unsigned i) {
    if (i == sizeof(orders) / sizeof(orders[0])) return (struct ggs_word){NULL, NULL};
    return (struct ggs_word){orders[i].name, orders[i].order.descending ? "largest first" : NULL};
}

static bool set_sort(void * member, const char * text) {
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        if (strcmp(orders[i].name, text) != 0) continue;
        *(struct ggs_log_order *) member = orders[i].order;
        return true;
    }
    return false;
}

// Page faults have OS threads and addresses, so some filters on ops do not apply.
static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    if (!arguments->faults) return;
    if (arguments->filter.ops.thread >= 0 || arguments->filter.ops.buffer != 0)
        argp_error(state, "--thread and --buffer do not go with --faults");
    enum ggs_log_column column = arguments->order.column;
    if (column != GGS_LOG_ROW && column != GGS_LOG_BEGIN && column != GGS_LOG_DURATION)
        argp_error(state, "page faults are sorted by time or duration");
}

static const struct ggs_option options[] = {
    GGS_OPTION("token", 0, "A..B", "Token steps A to B; 0 is the prompt", 1, AT(filter.first_token), ggs_set_tokens,
               GGS_EXPECTS_TOKENS),
    GGS_OPTIONS_SELECTION(1),
    GGS_OPTIONS_OPS(1, struct arguments, filter.ops),
    GGS_SWITCH("faults", 0, "List page faults instead of ops: when, where, how long the thread stalled", 1, AT(faults)),
    GGS_OPTION_OF("sort", 0, "COLUMN", "Sort by COLUMN, amounts largest first, others ascending", 2, AT(order),
                  set_sort, sort_words),
    GGS_OPTION("limit", 'n', "N", "At most N ops", 2, AT(limit), ggs_set_count, "a number of lines"),
    GGS_SWITCH("csv", 0, "As CSV", 3, AT(csv)),
    GGS_SWITCH("json", 'j', "As JSON, with all operands", 3, AT(input.json)),
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

// Prints in time order. Rows beyond the limit are not counted.
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

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments * arguments = input;
    enum ggs_log_form  form      = arguments->input.json ? GGS_LOG_JSON : arguments->csv ? GGS_LOG_CSV : GGS_LOG_TEXT;
    int status = ggs_trace_check_steps(traces, arguments->filter.first_token, arguments->filter.last_token, error);
    if (status == 0) status = ggs_op_filter_check(&arguments->filter.ops, traces, error);
    if (status < 0) return status;
    if (arguments->faults) return print_faults(arguments, form, traces, error);
    arguments->filter.operands = form == GGS_LOG_JSON;
    return print_log(traces, arguments, form, error);
}

int cmd_log(int argc, char ** argv) {
    static const struct ggs_verb verb = {
        GGS_OPENS_ONE, .options = options, .check = check, .run = show,
        .text = "List the ops of an experiment in time order: token, layer, threads, bytes and their place, "
                "duration."};
    struct arguments arguments = {.filter = GGS_LOG_ALL, .limit = UINT64_MAX};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
