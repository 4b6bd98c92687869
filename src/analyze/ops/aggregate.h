// Totals of a time window: ops, their bytes, activity of lanes, faults and block requests.
//
// An op belongs to the window if it touches it, as in the log; its bytes count fully, its times
// only within the window. Nodes of a backend that is seen as a whole belong to it if their graph
// run does.
#pragma once

#include <stdint.h>

#include "analyze/machine/block-requests.h"
#include "analyze/machine/faults.h"
#include "analyze/ops/overview.h"
#include "analyze/walk/names.h"

struct ggs_aggregate_op {
    const char * op;
    const char * backend; // in place of an op: nodes of a backend that is seen as a whole; else NULL
    uint64_t     ops, op_runs;
    uint64_t     untimed; // ops without times
    uint64_t     wall_ns, busy_ns,
        wait_ns;       // wall: from first start to last end, summed over ops; of a backend that of its graph runs
    bool     unwaited; // some waits were not seen, for example on a device
    uint64_t bytes_read, bytes_written, bytes_disk;
};

struct ggs_aggregate_tensor {
    const char * name; // lives as long as the window
    uint64_t     reads, bytes;
};

struct ggs_aggregate_lane {
    uint64_t lane;
    bool     device;                       // a queue, or whole graphs: not delayed by page faults
    bool     whole;                        // whole graphs: busy times are unknown
    bool     unwaited;                     // some waits were not seen, for example on a device
    double   busy_ns, wait_ns, stalled_ns; // busy: including stalls
};

struct ggs_aggregate {
    int64_t                       begin_ns, end_ns;
    int64_t                       first_token, last_token; // -1: none
    struct ggs_aggregate_op       all;                     // its `op` is NULL
    struct ggs_aggregate_op *     by_op;                   // longest first, without empty rows
    uint64_t                      n_by_op, by_op_capacity;
    struct ggs_aggregate_tensor * by_tensor; // tensors that were read, most bytes first
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
