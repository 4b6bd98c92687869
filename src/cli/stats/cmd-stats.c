// ggscope stats DIR: totals of ops, times and bytes.
#include "cli/stats/cmd-stats.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/ops/roofline.h"
#include "answer/answer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/system/file.h"
#include "base/system/terminal.h"
#include "cli/commands.h"
#include "cli/scaffold/op-options.h"
#include "record/measure.h"

struct arguments {
    struct ggs_input        input;
    struct ggs_totals_range range;
    struct ggs_op_filter    ops;
    unsigned                by; // bits 1 << enum ggs_by
    bool                    probe;
    bool                    roofline;
};
#define AT(member) offsetof(struct arguments, member)

static bool set_by(void * member, const char * text) {
    return ggs_groupings_parse(text, member);
}

static struct ggs_word by_words(unsigned i) {
    if (i == GGS_BY_COUNT) return (struct ggs_word){NULL, NULL};
    return (struct ggs_word){ggs_groupings[i].name, ggs_groupings[i].text};
}

// Measures this machine's limits with the recorded number of threads and stores them with the
// experiment.
static int probe(const char * directory, unsigned threads, struct ggs_error * error) {
    char              path[PATH_MAX];
    struct ggs_output output;
    struct ggs_json   json;
    struct ggs_rates  rates;
    int               status = ggs_measure_rates(&rates, threads, error);
    if (status == 0) status = ggs_output_open(&output, ggs_stats_probe_path(path, directory), error);
    if (status < 0) return status;
    ggs_json_init(&json, ggs_json_to_file, output.file, true);
    ggs_object_write(&json, NULL, &ggs_rates_object, &rates, NULL);
    if (ggs_json_finish(&json) == 0) return ggs_output_commit(&output, error);
    status = ggs_fail_errno(error, "cannot write %s", path);
    ggs_output_discard(&output);
    return status;
}

static int show_roofline(const struct arguments * arguments, struct ggs_trace * trace, uint64_t threads,
                         struct ggs_error * error) {
    struct ggs_roofline roofline;
    struct ggs_limits   limits;
    int                 status = ggs_roofline_compute(&roofline, trace, &arguments->range, error);
    if (status < 0) return status;
    ggs_stats_limits(&limits, trace, arguments->input.paths[0]);
    struct ggs_rates rates = ggs_limits_of(&limits, threads);
    if (arguments->input.json)
        ggs_roofline_write(arguments->input.out, trace, &roofline, &rates);
    else
        status = stats_roofline_text(&roofline, &rates);
    ggs_roofline_release(&roofline);
    return status;
}

// Prints lines that fit the terminal.
static int show_text(const struct ggs_stats * stats, unsigned by, struct ggs_error * error) {
    unsigned width    = ggs_terminal_limit(stdout);
    FILE *   terminal = stdout;
    char *   text     = NULL;
    size_t   length;
    FILE *   memory = open_memstream(&text, &length);
    if (memory == NULL) return ggs_fail_memory(error);
    stdout     = memory;
    int status = stats_text(stats, by);
    stdout     = terminal;
    if (fclose(memory) != 0) status = ggs_fail_memory(error);
    if (status == 0) ggs_terminal_wrap(text, width, stdout);
    free(text);
    return status;
}

static int show_stats(const struct arguments * arguments, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_stats_options options = {arguments->range, arguments->by, arguments->input.paths[0]};
    struct ggs_stats         stats;
    int                      status = ggs_stats_compute(&stats, trace, &options, error);
    if (status < 0) return status;
    if (arguments->input.json)
        ggs_stats_write(arguments->input.out, &stats);
    else
        status = show_text(&stats, arguments->by, error);
    ggs_stats_release(&stats);
    return status;
}

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    struct ggs_overview      overview;
    int                      status = ggs_op_filter_check(&arguments->ops, traces, error);
    if (status == 0) status = ggs_overview_compute(&overview, traces, error);
    uint64_t threads = status == 0 ? overview.threads : 0;
    if (status == 0) ggs_overview_release(&overview);
    if (status == 0 && arguments->probe) status = probe(arguments->input.paths[0], (unsigned) threads, error);
    if (status != 0) return status;
    if (!ggs_op_filter_is_all(&arguments->ops)) traces->filter = &arguments->ops;
    return arguments->roofline ? show_roofline(arguments, traces, threads, error)
                               : show_stats(arguments, traces, error);
}

int cmd_stats(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION_OF("by", 0, "WHAT,...", "Sum up by these", 1, AT(by), set_by, by_words),
        GGS_OPTION("token", 0, "A..B", "Only these token steps", 1, AT(range.first_step), ggs_set_tokens,
                   GGS_EXPECTS_TOKENS),
        GGS_OPTION("gap", 0, "SIZE", "Largest gap within a sequential read (default: a page)", 1, AT(range.gap),
                   ggs_set_size, "a size such as 4K, or 0"),
        GGS_OPTIONS_SELECTION(1),
        GGS_OPTIONS_OPS(1, struct arguments, ops),
        GGS_SWITCH("roofline", 0,
                   "Compare each op with the machine's limits: bytes/s, flop/s, balance over threads, barriers", 2,
                   AT(roofline)),
        GGS_SWITCH("probe", 0,
                   "Measure the machine's memory and cores for a second, keep the result, and compare with it", 2,
                   AT(probe)),
        GGS_OPTION_JSON(2),
        GGS_OPTION_DAMAGED(2),
        {0},
    };
    static const struct ggs_verb verb = {
        GGS_OPENS_ONE, .options = options, .run = show,
        .text =
            "Show what ran, how often and at which cost: token steps, time, bytes read and written, what of the model was touched, in which order."};
    struct arguments arguments = {.range = ggs_totals_all, .ops = GGS_OP_FILTER_ALL};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
