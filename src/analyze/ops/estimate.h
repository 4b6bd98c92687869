// What ops of a device take in graph runs that have no op times, estimated from those that have: on
// CUDA only the runs of a window have them.
//
// A run without op times is taken to spend its time on ops as the runs of the same device and phase
// that have them do, so tracing that makes everything slower does not count. If there is no such
// run, nothing is estimated. All of it is an estimate and is shown as one.
#pragma once

#include <stdint.h>

#include "analyze/walk/walk.h"

struct ggs_estimated_op {
    const char * name;
    uint64_t     wall_ns; // of all runs of devices: what was seen, and the estimate for the rest
};

struct ggs_estimate {
    uint64_t                  runs, run_ns;       // without op times, that something is estimated for
    uint64_t                  from_runs, from_ns; // with op times, that it is estimated from
    uint64_t                  n;
    struct ggs_estimated_op * op; // longest first
    // below: private
    struct ggs_estimate_runs * sums;  // by device and phase
    uint64_t *                 op_ns; // the same, and by op
    uint64_t                   n_devices, n_ops;
};

// Filled while totals.c walks over the recording: begin, every run of a device that is not the CPU
// and every op of it, end.
int  ggs_estimate_begin(struct ggs_estimate * estimate, const struct ggs_trace * trace, struct ggs_error * error);
void ggs_estimate_run(struct ggs_estimate * estimate, const struct ggs_run * run);
void ggs_estimate_op(struct ggs_estimate * estimate, const struct ggs_run * run, const struct ggs_op_seen * op);
int  ggs_estimate_end(struct ggs_estimate * estimate, const struct ggs_trace * trace, struct ggs_error * error);
void ggs_estimate_release(struct ggs_estimate * estimate);
