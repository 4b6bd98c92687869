// ggscope stats DIR: what ran, how often, at which cost.
#include "cli/cmd-stats.h"

#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/ops/probe.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/verb.h"

enum { KEY_BY = 256, KEY_JSON, KEY_TOKEN, KEY_LAYER, KEY_PROBE };

struct arguments {
    const char *            directory;
    struct ggs_totals_range range;
    enum ggs_by             by;
    bool                    by_given, json, probe;
};

static const char * const by_names[] = {
    [GGS_BY_OP] = "op",         [GGS_BY_LAYER] = "layer",   [GGS_BY_COMPONENT] = "component",
    [GGS_BY_TENSOR] = "tensor", [GGS_BY_THREAD] = "thread", [GGS_BY_TOKEN] = "token",
};

static bool parse_by(const char * text, enum ggs_by * by) {
    for (size_t i = 0; i < sizeof(by_names) / sizeof(by_names[0]); i++) {
        if (strcmp(text, by_names[i]) == 0) {
            *by = (enum ggs_by) i;
            return true;
        }
    }
    return false;
}

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
            if (!parse_by(argument, &arguments->by))
                argp_error(state, "--by takes op, layer, component, tensor, thread or token, not '%s'", argument);
            arguments->by_given = true;
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

// ---- the memory's limit: DIR/probe.json ----

static char * probe_path(char * path, const char * directory) {
    struct stat status; // beside a trace that is given by itself
    bool        file = stat(directory, &status) == 0 && S_ISREG(status.st_mode);
    snprintf(path, PATH_MAX, file ? "%s.probe.json" : "%s/probe.json", directory);
    return path;
}

static uint64_t read_probe(const char * directory) {
    char   path[PATH_MAX], text[256] = "";
    FILE * file = fopen(probe_path(path, directory), "re");
    if (file == NULL) return 0;
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n]         = '\0';
    const char * at = strstr(text, "\"memory_bytes_per_second\": ");
    return at == NULL ? 0 : strtoull(at + 27, NULL, 10);
}

static int probe(const char * directory, unsigned threads, struct ggs_error * error) {
    char              path[PATH_MAX];
    struct ggs_output output;
    struct ggs_json   json;
    int               status = ggs_output_open(&output, probe_path(path, directory), error);
    if (status < 0) return status;
    ggs_json_init(&json, ggs_json_to_file, output.file, true);
    ggs_json_object(&json, NULL);
    ggs_json_u64(&json, "memory_bytes_per_second", ggs_probe_bandwidth(threads));
    ggs_json_u64(&json, "threads", threads);
    ggs_json_end(&json);
    if (ggs_json_finish(&json) != 0) {
        ggs_output_discard(&output);
        return ggs_fail_errno(error, "cannot write %s", path);
    }
    return ggs_output_commit(&output, error);
}

// ---- the verb ----

static int compute(struct stats_report * report, const struct arguments * arguments, struct ggs_error * error) {
    int status = ggs_totals_compute(&report->totals, report->trace, &arguments->range, error);
    // The text shows a table in any case; the JSON has by_op without asking.
    if (status == 0 && (arguments->by_given || !arguments->json))
        status = ggs_groups_compute(&report->groups, report->trace, arguments->by, &arguments->range, error);
    if (status == 0) status = ggs_weights_list(&report->weights, report->trace, &report->totals, error);
    if (status == 0) status = ggs_fault_totals_compute(&report->faults, report->trace, &arguments->range, error);
    if (status == 0) status = ggs_request_totals_compute(&report->requests, report->trace, &arguments->range, error);
    if (status == 0) status = ggs_loading_compute(&report->loading, report->trace, error);
    if (status == 0) status = ggs_resident_list(&report->resident, report->trace, &report->totals, error);
    if (status == 0 && arguments->probe) status = probe(arguments->directory, (unsigned) report->totals.threads, error);
    ggs_conditions_read(&report->conditions, report->trace);
    report->bandwidth = read_probe(arguments->directory);
    report->by        = by_names[arguments->by];
    return status;
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

    struct ggs_trace    trace;
    struct ggs_error    error  = {0};
    struct stats_report report = {.trace = &trace};
    if (ggs_verb_open(&trace, arguments.directory) < 0) return 1;
    int status = compute(&report, &arguments, &error);
    if (status < 0) {
        ggs_verb_complain(&error);
    } else {
        status = arguments.json ? stats_json(&report) : stats_text(&report);
        if (fflush(stdout) != 0) status = -1;
    }
    ggs_request_totals_release(&report.requests);
    ggs_fault_totals_release(&report.faults);
    ggs_resident_release(&report.resident);
    ggs_weights_release(&report.weights);
    ggs_groups_release(&report.groups);
    ggs_totals_release(&report.totals);
    ggs_trace_close(&trace);
    return status == 0 ? 0 : 1;
}
