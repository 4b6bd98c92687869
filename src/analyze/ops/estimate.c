#include "analyze/ops/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/times.h"
#include "base/error.h"

struct ggs_estimate_runs {
    uint64_t timed, timed_ns, whole, whole_ns;
};

int ggs_estimate_begin(struct ggs_estimate * estimate, const struct ggs_trace * trace, struct ggs_error * error) {
    *estimate       = (struct ggs_estimate){.n_devices = trace->n_devices, .n_ops = trace->n_ops};
    estimate->sums  = calloc(trace->n_devices * GGS_PHASE_COUNT + 1, sizeof(*estimate->sums));
    estimate->op_ns = calloc(trace->n_devices * GGS_PHASE_COUNT * trace->n_ops + 1, sizeof(*estimate->op_ns));
    return estimate->sums == NULL || estimate->op_ns == NULL ? ggs_fail_memory(error) : 0;
}

// Finds the slot of a run's device and phase; false if the trace has none.
static bool find_slot(const struct ggs_estimate * estimate, const struct ggs_run * run, uint64_t * at) {
    if (run->device == 0 || run->device > estimate->n_devices || run->phase >= GGS_PHASE_COUNT) return false;
    *at = (run->device - 1) * GGS_PHASE_COUNT + run->phase;
    return true;
}

void ggs_estimate_run(struct ggs_estimate * estimate, const struct ggs_run * run) {
    uint64_t at, ns = ggs_time_between(run->begin_ns, run->end_ns);
    if (!find_slot(estimate, run, &at) || (run->flags & GGS_RUN_INTERRUPTED) != 0) return;
    struct ggs_estimate_runs * sum = &estimate->sums[at];
    if ((run->flags & GGS_RUN_OPAQUE) != 0)
        sum->whole++, sum->whole_ns += ns;
    else
        sum->timed++, sum->timed_ns += ns;
}

void ggs_estimate_op(struct ggs_estimate * estimate, const struct ggs_run * run, const struct ggs_op_seen * op) {
    uint64_t at;
    if (op->opaque || op->op >= estimate->n_ops || (run->flags & GGS_RUN_INTERRUPTED) != 0) return;
    if (find_slot(estimate, run, &at)) estimate->op_ns[at * estimate->n_ops + op->op] += op->wall_ns;
}

static int by_wall(const void * a, const void * b) {
    const struct ggs_estimated_op *x = a, *y = b;
    if (x->wall_ns != y->wall_ns) return x->wall_ns > y->wall_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

int ggs_estimate_end(struct ggs_estimate * estimate, const struct ggs_trace * trace, struct ggs_error * error) {
    estimate->op = calloc(estimate->n_ops + 1, sizeof(*estimate->op));
    if (estimate->op == NULL) return ggs_fail_memory(error);
    for (uint64_t at = 0; at < estimate->n_devices * GGS_PHASE_COUNT; at++) {
        const struct ggs_estimate_runs * sum = &estimate->sums[at];
        if (sum->timed_ns == 0) continue;
        estimate->runs += sum->whole, estimate->run_ns += sum->whole_ns;
        if (sum->whole > 0) estimate->from_runs += sum->timed, estimate->from_ns += sum->timed_ns;
        for (uint64_t i = 0; i < estimate->n_ops; i++) {
            uint64_t seen = estimate->op_ns[at * estimate->n_ops + i];
            double   rest = (double) sum->whole_ns * ((double) seen / (double) sum->timed_ns);
            estimate->op[i].wall_ns += seen + (uint64_t) rest;
        }
    }
    for (uint64_t i = 0; i < estimate->n_ops; i++) {
        estimate->op[i].name = trace->op_names[i];
        if (estimate->op[i].wall_ns > 0) estimate->op[estimate->n++] = estimate->op[i];
    }
    if (estimate->n > 1) qsort(estimate->op, estimate->n, sizeof(*estimate->op), by_wall);
    return 0;
}

void ggs_estimate_release(struct ggs_estimate * estimate) {
    free(estimate->sums);
    free(estimate->op_ns);
    free(estimate->op);
    *estimate = (struct ggs_estimate){0};
}
