// Estimates the op times of device graph runs without them, from runs that have them: on CUDA only
// the runs of a window do.
//
// A run without op times is assumed to divide its time among ops like the runs of the same device
// and phase with op times, so a slowdown by tracing does not count. Without such runs nothing is
// estimated. Results are always shown as estimates.
#pragma once

#include <stdint.h>

#include "analyze/walk/walk.h"

struct ggs_estimated_op {
    const char * name;
    uint64_t     wall_ns; // of all device runs: measured, plus the estimate for the rest
};

struct ggs_estimate {
    uint64_t                  runs, run_ns;       // without op times, with an estimate
    uint64_t                  from_runs, from_ns; // with op times, the basis of the estimate
    uint64_t                  n;
    struct ggs_estimated_op * op; // longest first
    // private
    struct ggs_estimate_runs * sums;  // by device and phase
    uint64_t *                 op_ns; // the same by op
    uint64_t                   n_devices, n_ops;
};

// Filled while totals.c walks the recording: begin, every run and op of devices other than the CPU,
// end.
int  ggs_estimate_begin(struct ggs_estimate * estimate, const struct ggs_trace * trace, struct ggs_error * error);
void ggs_estimate_run(struct ggs_estimate * estimate, const struct ggs_run * run);
void ggs_estimate_op(struct ggs_estimate * estimate, const struct ggs_run * run, const struct ggs_op_seen * op);
int  ggs_estimate_end(struct ggs_estimate * estimate, const struct ggs_trace * trace, struct ggs_error * error);
void ggs_estimate_release(struct ggs_estimate * estimate);
