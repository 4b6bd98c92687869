// ggscope stats DIR: what ran, how often, at which cost.
#include "cli/cmd-stats.h"

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

struct arguments {
    struct ggs_input        input;
    struct ggs_totals_range range;
    int                     by; // enum ggs_by, or -1
    bool                    probe;
};
#define AT(member) offsetof(struct arguments, member)

static const char * const by_names[] = {
    [GGS_BY_OP] = "op",         [GGS_BY_LAYER] = "layer",   [GGS_BY_COMPONENT] = "component",
    [GGS_BY_TENSOR] = "tensor", [GGS_BY_THREAD] = "thread", [GGS_BY_TOKEN] = "token",
};

static bool take_by(void * member, const char * text) {
    for (size_t i = 0; i < sizeof(by_names) / sizeof(by_names[0]); i++) {
        if (strcmp(text, by_names[i]) != 0) continue;
        *(int *) member = (int) i;
        return true;
    }
    return false;
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
    const char * path   = arguments->input.paths[0];
    enum ggs_by  by     = arguments->by < 0 ? GGS_BY_OP : (enum ggs_by) arguments->by;
    int          status = ggs_totals_compute(&report->totals, report->trace, &arguments->range, error);
    // The text shows a table in any case; the JSON has by_op without asking.
    if (status == 0 && (arguments->by >= 0 || !arguments->input.json))
        status = ggs_groups_compute(&report->groups, report->trace, by, &arguments->range, error);
    if (status == 0) status = ggs_weights_list(&report->weights, report->trace, &report->totals, error);
    if (status == 0) status = ggs_fault_totals_compute(&report->faults, report->trace, &arguments->range, error);
    if (status == 0) status = ggs_request_totals_compute(&report->requests, report->trace, &arguments->range, error);
    if (status == 0) status = ggs_loading_compute(&report->loading, report->trace, error);
    if (status == 0) status = ggs_resident_list(&report->resident, report->trace, &report->totals, error);
    if (status == 0 && arguments->probe) status = probe(path, (unsigned) report->totals.threads, error);
    ggs_conditions_read(&report->conditions, report->trace);
    report->bandwidth = read_probe(path);
    report->by        = by_names[by];
    return status;
}

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    struct stats_report      report    = {.trace = traces};
    int                      status    = compute(&report, arguments, error);
    if (status == 0) status = arguments->input.json ? stats_json(&report) : stats_text(&report);
    ggs_request_totals_release(&report.requests);
    ggs_fault_totals_release(&report.faults);
    ggs_resident_release(&report.resident);
    ggs_weights_release(&report.weights);
    ggs_groups_release(&report.groups);
    ggs_totals_release(&report.totals);
    return status;
}

int cmd_stats(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        {"by", 0, "WHAT", "Sum up by op (the default), layer, component, tensor, thread or token", 1, AT(by), take_by,
         "op, layer, component, tensor, thread or token"},
        {"token", 0, "A..B", "Only these token steps", 1, AT(range.first_step), ggs_take_tokens, GGS_EXPECTS_TOKENS},
        {"layer", 0, "N", "Only ops of this layer", 1, AT(range.layer), ggs_take_layer, "the number of a layer"},
        {"probe", 0, NULL, "Measure for a second how fast memory can be read here, keep it, and compare with it", 2,
         AT(probe), NULL, NULL},
        GGS_OPTION_JSON(2),
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
    struct arguments arguments = {.range = ggs_totals_all, .by = -1};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
