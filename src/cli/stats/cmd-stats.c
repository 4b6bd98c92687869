// ggscope stats DIR: what ran, how often, at which cost.
#include "cli/stats/cmd-stats.h"

#include <stdio.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"

struct arguments {
    struct ggs_input        input;
    struct ggs_totals_range range;
    unsigned                by; // bits 1 << enum ggs_by
    bool                    probe;
};
#define AT(member) offsetof(struct arguments, member)

static bool take_by(void * member, const char * text) {
    return ggs_stats_parse_by(text, member);
}

static int write_json(const struct ggs_stats * stats) {
    struct ggs_json json;
    ggs_json_init(&json, ggs_json_to_file, stdout, true);
    ggs_stats_write(&json, stats);
    return ggs_json_finish(&json);
}

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    const char *             path      = arguments->input.paths[0];
    struct ggs_stats_options options   = {arguments->range, arguments->by, path};
    struct ggs_stats         stats;
    int                      status = ggs_stats_compute(&stats, traces, &options, error);
    if (status < 0) return status;
    if (arguments->probe) status = ggs_stats_probe(&stats, path, error);
    if (status == 0) status = arguments->input.json ? write_json(&stats) : stats_text(&stats, arguments->by);
    ggs_stats_release(&stats);
    return status;
}

int cmd_stats(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        {"by", 0, "WHAT",
         "Sum up by op (the default), layer, component, tensor, thread, token, device, kernel, process, host, request, sequence or context",
         1, AT(by), take_by,
         "op, layer, component, tensor, thread, token, device, kernel, process, host, request, sequence or context"},
        {"token", 0, "A..B", "Only these token steps", 1, AT(range.first_step), ggs_take_tokens, GGS_EXPECTS_TOKENS},
        GGS_OPTIONS_SELECTION(1),
        {"layer", 0, "N", "Only ops of this layer", 1, AT(range.layer), ggs_take_layer, "the number of a layer"},
        {"probe", 0, NULL, "Measure for a second how fast memory can be read here, keep it, and compare with it", 2,
         AT(probe), NULL, NULL},
        GGS_OPTION_JSON(2),
        GGS_OPTION_DAMAGED(2),
        {0},
    };
    static const struct ggs_verb verb = {
        .operands = "[DIR]",
        .most     = 1,
        .opens    = true,
        .options  = options,
        .run      = show,
        .text =
            "Show what ran, how often and at which cost: token steps, time, bytes read and written, what of the model was touched, in which order."};
    struct arguments arguments = {.range = ggs_totals_all};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
