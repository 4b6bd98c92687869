// What happened in a window of time: ops, the bytes that they touched, what lanes did, faults and disk requests.
//
// An op belongs to it if it touches the window, as in the log; its bytes count whole, times only as far as they lie within.
#pragma once

#include <stdint.h>

#include "analyze/machine/faults.h"
#include "analyze/machine/requests.h"
#include "analyze/ops/overview.h"
#include "analyze/walk/names.h"

struct ggs_aggregate_op {
    const char * op;
    uint64_t     ops, op_runs;
    uint64_t     wall_ns, busy_ns, wait_ns; // wall: first begin to last end, summed over ops
    uint64_t     bytes_read, bytes_written, bytes_disk;
};

struct ggs_aggregate_tensor {
    const char * name; // lives as long as the window
    uint64_t     reads, bytes;
};

struct ggs_aggregate_lane {
    uint64_t lane;
    double   busy_ns, wait_ns, stalled_ns; // busy: stalls included
};

struct ggs_aggregate {
    int64_t                       begin_ns, end_ns;
    int64_t                       first_token, last_token; // -1: none
    struct ggs_aggregate_op       all;                     // its `op` is NULL
    struct ggs_aggregate_op *     by_op;                   // longest first; those without ops left out
    uint64_t                      n_by_op;
    struct ggs_aggregate_tensor * by_tensor; // that were read, most bytes first
    uint64_t                      n_by_tensor, by_tensor_capacity;
    struct ggs_aggregate_lane *   by_lane; // as in the overview
    uint64_t                      n_by_lane;
    struct ggs_fault_bin          faults;
    struct ggs_request_bin        requests;
    bool                          has_faults, has_requests;
    struct ggs_names *            names;
};

int ggs_aggregate_compute(struct ggs_aggregate * window, struct ggs_trace * trace, const struct ggs_overview * overview,
                          int64_t begin_ns, int64_t end_ns, struct ggs_error * error);
void ggs_aggregate_release(struct ggs_aggregate * window);
