// ggscope stats DIR: what ran, how often, at which cost.
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "analyze/totals.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/table.h"
#include "base/terminal.h"
#include "cli/cmd-seal.h"
#include "cli/commands.h"
#include "cli/summary.h"

struct arguments {
    const char * directory;
    bool         json;
};

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct arguments * arguments = state->input;
    switch (key) {
        case 'j':
            arguments->json = true;
            return 0;
        case ARGP_KEY_ARG:
            if (arguments->directory != NULL)
                argp_error(state, "one experiment at a time, please: '%s' is too much", argument);
            arguments->directory = argument;
            return 0;
        case ARGP_KEY_END:
            if (arguments->directory == NULL) argp_error(state, "which experiment? Give its directory");
            return 0;
        default:
            return ARGP_ERR_UNKNOWN;
    }
}

static void format_uuid(char text[40], const uint8_t * u) {
    snprintf(text, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2], u[3],
             u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static void write_numbers(struct ggs_json * json, const struct ggs_totals * t) {
    const struct {
        const char * key;
        uint64_t     value;
    } numbers[] = {
        {"tokens", t->steps},
        {"prompt_tokens", t->prompt_tokens},
        {"generated_tokens", t->generated_tokens},
        {"threads", t->threads},
        {"graph_runs", t->runs},
        {"interrupted_runs", t->interrupted_runs},
        {"nodes", t->nodes},
        {"executed", t->executed},
        {"absorbed", t->absorbed},
        {"empty", t->empty},
        {"skipped", t->skipped},
        {"opaque", t->opaque},
        {"unseen", t->unseen},
        {"cut", t->cut},
        {"dropped", t->dropped},
        {"ops", t->ops},
        {"op_runs", t->op_runs},
        {"wall_ns", t->wall_ns},
        {"prompt_ns", t->prompt_ns},
        {"generate_ns", t->generate_ns},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ggs_json_u64(json, numbers[i].key, numbers[i].value);
}

static int print_json(const struct ggs_trace * trace, const struct ggs_totals * t) {
    struct ggs_json json;
    char            id[40];
    format_uuid(id, ggs_reader_uuid(trace->reader));
    ggs_json_init(&json, ggs_json_to_file, stdout, true);
    ggs_json_object(&json, NULL);
    ggs_json_string(&json, "experiment_id", id);
    write_numbers(&json, t);
    ggs_json_object_inline(&json, "bytes");
    ggs_json_u64(&json, "read", t->read);
    ggs_json_u64(&json, "written", t->written);
    ggs_json_u64(&json, "disk", t->disk);
    ggs_json_u64(&json, "buffer", t->buffer);
    ggs_json_end(&json);
    ggs_json_object_inline(&json, "buffers");
    ggs_json_u64(&json, "count", t->buffers);
    ggs_json_u64(&json, "peak_bytes", t->peak_bytes);
    ggs_json_end(&json);
    ggs_json_object_inline(&json, "model");
    ggs_json_u64(&json, "bytes", t->model_bytes);
    ggs_json_u64(&json, "touched", t->touched_bytes);
    ggs_json_u64(&json, "never_touched", t->model_bytes - t->touched_bytes);
    ggs_json_end(&json);
    ggs_json_array(&json, "by_op");
    for (uint64_t i = 0; i < t->n_by_op; i++) {
        const struct ggs_op_totals * op = &t->by_op[i];
        ggs_json_object_inline(&json, NULL);
        ggs_json_string(&json, "op", op->name);
        ggs_json_u64(&json, "ops", op->ops);
        ggs_json_u64(&json, "op_runs", op->op_runs);
        ggs_json_u64(&json, "wall_ns", op->wall_ns);
        ggs_json_u64(&json, "busy_ns", op->busy_ns);
        ggs_json_u64(&json, "wait_ns", op->wait_ns);
        ggs_json_u64(&json, "bytes_read", op->read);
        ggs_json_u64(&json, "bytes_written", op->written);
        ggs_json_end(&json);
    }
    ggs_json_end(&json);
    ggs_json_end(&json);
    return ggs_json_finish(&json);
}

static int print_text(const struct ggs_totals * t) {
    char               a[GGS_NUMBER_LENGTH], bar[3 * 12 + 1];
    uint64_t           all   = 0;
    struct ggs_table * table = ggs_table_new();
    for (uint64_t i = 0; i < t->n_by_op; i++) all += t->by_op[i].wall_ns;
    ggs_table_column(table, "op", GGS_LEFT);
    ggs_table_column(table, "ops", GGS_RIGHT);
    ggs_table_column(table, "wall", GGS_RIGHT);
    ggs_table_column(table, "share", GGS_RIGHT);
    ggs_table_column(table, "", GGS_LEFT);
    ggs_table_column(table, "wait", GGS_RIGHT);
    ggs_table_column(table, "read", GGS_RIGHT);
    ggs_table_column(table, "written", GGS_RIGHT);
    for (uint64_t i = 0; i < t->n_by_op; i++) {
        const struct ggs_op_totals * op = &t->by_op[i];
        ggs_table_cell(table, "%s", op->name);
        ggs_table_cell(table, "%s", ggs_format_count(a, op->ops));
        ggs_table_cell(table, "%s", ggs_format_nanoseconds(a, op->wall_ns));
        ggs_table_cell(table, "%s", ggs_format_percent(a, op->wall_ns, all));
        ggs_terminal_bar(bar, sizeof(bar), 8, all == 0 ? 0 : (double) op->wall_ns / (double) all);
        ggs_table_cell(table, "%s", bar);
        uint64_t time = op->busy_ns + op->wait_ns;
        ggs_table_cell(table, "%s", ggs_format_percent(a, op->wait_ns, time));
        ggs_table_cell(table, "%s", ggs_format_bytes(a, op->read));
        ggs_table_cell(table, "%s", ggs_format_bytes(a, op->written));
    }
    int status = ggs_table_print(table, stdout, 0);
    ggs_table_free(table);
    return status;
}

int cmd_stats(int argc, char ** argv) {
    static const struct argp_option options[] = {{"json", 'j', NULL, 0, "As JSON", 1}, {0}};
    static const struct argp        argp      = {
                    options,
                    parse_option,
                    "DIR",
                    "Show what ran, how often and at which cost: token steps, ops by time, bytes read and written, what of the model was touched.",
                    NULL,
                    NULL,
                    NULL};
    static char      program[] = "ggscope stats";
    struct arguments arguments = {0};
    argp_err_exit_status       = 2;
    argv[0]                    = program;
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) return 2;

    struct ggs_error  error = {0};
    struct ggs_trace  trace = {0};
    struct ggs_totals totals;
    if (ggs_seal_recover(arguments.directory, false, NULL, &error) < 0 ||
        ggs_trace_open(&trace, arguments.directory, &error) < 0 || ggs_totals_compute(&totals, &trace, &ggs_totals_all, &error) < 0) {
        ggs_trace_close(&trace);
        fprintf(stderr, "ggscope: %s\n", error.text);
        return 1;
    }
    int status;
    if (arguments.json) {
        status = print_json(&trace, &totals);
    } else {
        ggs_summary_totals(&totals, stdout);
        putchar('\n');
        status = print_text(&totals);
    }
    ggs_totals_release(&totals);
    ggs_trace_close(&trace);
    return status != 0 || fflush(stdout) != 0 ? 1 : 0;
}
