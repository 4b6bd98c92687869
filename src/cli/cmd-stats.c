// ggscope stats DIR: what ran, how often, at which cost.
#include "cli/cmd-stats.h"

#include <argp.h>
#include <limits.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/verb.h"

enum { KEY_BY = 256, KEY_JSON, KEY_TOKEN, KEY_LAYER, KEY_PROBE };

struct arguments {
    const char *            directory;
    struct ggs_totals_range range;
    unsigned                by; // bits
    bool                    json, probe;
};

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct arguments * arguments = state->input;
    uint64_t           layer;
    switch (key) {
        case KEY_JSON:
            arguments->json = true;
            return 0;
        case KEY_PROBE:
            arguments->probe = true;
            return 0;
        case KEY_BY:
            if (!ggs_stats_parse_by(argument, &arguments->by))
                argp_error(state, "--by takes op, layer, component, tensor, thread or token, not '%s'", argument);
            return 0;
        case KEY_TOKEN:
            if (!ggs_parse_tokens(argument, &arguments->range.first_step, &arguments->range.last_step))
                argp_error(state, "--token takes a token or a range such as 3, 3..5 or 3.., not '%s'", argument);
            return 0;
        case KEY_LAYER:
            if (!ggs_parse_u64(argument, 0, INT_MAX, &layer))
                argp_error(state, "--layer takes the number of a layer, not '%s'", argument);
            arguments->range.layer = (int) layer;
            return 0;
        default:
            return ggs_verb_parse_directory(key, argument, state, &arguments->directory);
    }
}

// ---- the verb ----

static int compute(struct ggs_stats * stats, struct ggs_trace * trace, const struct arguments * arguments,
                   struct ggs_error * error) {
    struct ggs_stats_options options = {arguments->range, arguments->by, arguments->directory};
    int                      status  = ggs_stats_compute(stats, trace, &options, error);
    if (status < 0 || !arguments->probe) return status;
    status = ggs_stats_probe(arguments->directory, (unsigned) stats->totals.threads, error);
    if (status == 0) stats->memory_bytes_per_second = ggs_stats_probed(arguments->directory);
    return status;
}

static int write_json(const struct ggs_stats * stats) {
    struct ggs_json json;
    ggs_json_init(&json, ggs_json_to_file, stdout, true);
    ggs_stats_write(&json, stats);
    return ggs_json_finish(&json);
}

int cmd_stats(int argc, char ** argv) {
    static const struct argp_option options[] = {
        {"by", KEY_BY, "WHAT", 0, "Sum up by op (the default), layer, component, tensor, thread or token", 1},
        {"token", KEY_TOKEN, "A..B", 0, "Only these token steps", 1},
        {"layer", KEY_LAYER, "N", 0, "Only ops of this layer", 1},
        {"probe", KEY_PROBE, NULL, 0,
         "Measure for a second how fast memory can be read here, keep it, and compare with it", 2},
        {"json", KEY_JSON, NULL, 0, "As JSON", 2},
        {0},
    };
    static const struct argp argp = {
        options,
        parse_option,
        "DIR",
        "Show what ran, how often and at which cost: token steps, time, bytes read and written, what of the model was touched, in which order.",
        NULL,
        NULL,
        NULL};
    struct arguments arguments = {.range = ggs_totals_all};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) return 2;

    struct ggs_trace trace;
    struct ggs_error error = {0};
    struct ggs_stats stats = {0};
    if (ggs_verb_open(&trace, arguments.directory) < 0) return 1;
    int status = compute(&stats, &trace, &arguments, &error);
    if (status < 0) {
        ggs_verb_complain(&error);
    } else {
        status = arguments.json ? write_json(&stats) : stats_text(&stats, arguments.by);
        if (fflush(stdout) != 0) status = -1;
    }
    ggs_stats_release(&stats);
    ggs_trace_close(&trace);
    return status == 0 ? 0 : 1;
}
