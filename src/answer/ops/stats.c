#include "answer/ops/stats.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/json-read.h"
#include "base/machine-limits.h"
#include "base/system/file.h"

// ---- limits of the machine: experiment.json, or DIR/probe.json ----

char * ggs_stats_probe_path(char path[PATH_MAX], const char * directory) {
    struct stat status; // beside a single trace
    bool        file = stat(directory, &status) == 0 && S_ISREG(status.st_mode);
    snprintf(path, PATH_MAX, file ? "%s.probe.json" : "%s/probe.json", directory);
    return path;
}

void ggs_stats_limits(struct ggs_limits * limits, const struct ggs_trace * trace, const char * directory) {
    const char *          experiment = ggs_reader_experiment(trace->reader);
    struct ggs_json_value host       = ggs_json_member(ggs_json_read(experiment, strlen(experiment)), "host");
    char                  path[PATH_MAX];
    struct ggs_mapping    file;
    ggs_limits_read(limits, ggs_json_member(host, "limits"));
    if (directory == NULL || ggs_mapping_open(&file, ggs_stats_probe_path(path, directory), NULL) < 0) return;
    if (file.size > 0) ggs_limits_read(limits, ggs_json_read((const char *) file.data, (size_t) file.size));
    ggs_mapping_close(&file);
}

// ---- computing ----

// The totals include rows by op.
static int copy_by_op(struct ggs_groups * groups, const struct ggs_totals * totals, struct ggs_error * error) {
    groups->group = calloc(totals->n_by_op + 1, sizeof(*groups->group));
    if (groups->group == NULL) return ggs_fail_memory(error);
    groups->n = groups->capacity = totals->n_by_op;
    groups->has_bytes            = true;
    for (uint64_t i = 0; i < totals->n_by_op; i++) {
        const struct ggs_op_totals * op = &totals->by_op[i];
        groups->group[i]                = (struct ggs_group){.name      = op->name,
                                                             .opaque    = op->opaque,
                                                             .ops       = op->ops,
                                                             .op_runs   = op->op_runs,
                                                             .wall_ns   = op->wall_ns,
                                                             .busy_ns   = op->busy_ns,
                                                             .wait_ns   = op->wait_ns,
                                                             .untimed   = op->opaque && op->op_runs == 0 ? op->ops : 0,
                                                             .unwaited  = op->unwaited,
                                                             .on_device = op->on_device,
                                                             .read      = op->read,
                                                             .written   = op->written,
                                                             .disk      = op->disk};
    }
    return 0;
}

// Rows by op come with the totals, all others from one pass, except those with a pass of their own.
static int compute_groups(struct ggs_stats * stats, const struct ggs_totals_range * range, struct ggs_error * error) {
    struct ggs_groups groups[GGS_BY_COUNT];
    enum ggs_by       by[GGS_BY_COUNT];
    unsigned          n      = 0;
    int               status = copy_by_op(&stats->groups[GGS_BY_OP], &stats->totals, error);
    for (unsigned i = 0; status == 0 && i < GGS_BY_COUNT; i++) {
        if ((stats->by >> i & 1) == 0 || i == GGS_BY_OP) continue;
        if (ggs_groupings[i].compute == NULL)
            by[n++] = (enum ggs_by) i;
        else
            status = ggs_groupings[i].compute(&stats->groups[i], stats->trace, (enum ggs_by) i, range, error);
    }
    if (status == 0 && n > 0) {
        status = ggs_groups_compute_several(groups, by, n, stats->trace, range, error);
        for (unsigned i = 0; status == 0 && i < n; i++) stats->groups[by[i]] = groups[i];
    }
    return status;
}

int ggs_stats_compute(struct ggs_stats * stats, struct ggs_trace * trace, const struct ggs_stats_options * options,
                      struct ggs_error * error) {
    const struct ggs_totals_range * range = &options->range;
    *stats                                = (struct ggs_stats){.trace = trace, .by = options->by | 1u << GGS_BY_OP};
    int status                            = ggs_trace_check_steps(trace, range->first_step, range->last_step, error);
    if (status == 0) status = ggs_totals_compute(&stats->totals, trace, range, error);
    if (status == 0) status = compute_groups(stats, range, error);
    if (status == 0) status = ggs_weights_list(&stats->weights, trace, &stats->totals, error);
    if (status == 0) status = ggs_fault_totals_compute(&stats->faults, trace, range, error);
    if (status == 0) status = ggs_off_cpu_totals_compute(&stats->off_cpu, trace, range, error);
    if (status == 0) status = ggs_request_totals_compute(&stats->requests, trace, range, error);
    if (status == 0 && (stats->by >> GGS_BY_CONTEXT & 1) != 0)
        status = ggs_requests_list(&stats->contexts, trace, false, error);
    if (status == 0) status = ggs_windows_read(&stats->windows, trace, error);
    if (status == 0) status = ggs_process_list_read(&stats->processes, trace, error);
    if (status == 0) status = ggs_streamed_compute(&stats->streamed, trace, range, error);
    if (status == 0) status = ggs_loading_compute(&stats->loading, trace, error);
    if (status == 0) status = ggs_resident_list(&stats->resident, trace, &stats->totals, error);
    if (status < 0) {
        ggs_stats_release(stats);
        return status;
    }
    ggs_conditions_read(&stats->conditions, trace);
    struct ggs_limits limits;
    ggs_stats_limits(&limits, trace, options->directory);
    stats->rates = ggs_limits_of(&limits, stats->totals.threads);
    return 0;
}

void ggs_stats_release(struct ggs_stats * stats) {
    ggs_windows_release(&stats->windows);
    ggs_requests_release(&stats->contexts);
    ggs_process_list_release(&stats->processes);
    ggs_request_totals_release(&stats->requests);
    ggs_fault_totals_release(&stats->faults);
    ggs_off_cpu_totals_release(&stats->off_cpu);
    ggs_resident_release(&stats->resident);
    ggs_weights_release(&stats->weights);
    for (unsigned i = 0; i < GGS_BY_COUNT; i++) ggs_groups_release(&stats->groups[i]);
    ggs_totals_release(&stats->totals);
    *stats = (struct ggs_stats){0};
}
