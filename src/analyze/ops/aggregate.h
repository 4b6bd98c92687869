// What happened in a window of time: ops, the bytes that they touched, what lanes did, faults and
// disk requests.
//
// An op belongs to it if it touches the window, as in the log; its bytes count whole, times only as
// far as they lie within. Nodes of a backend that is seen as a whole belong to it if their graph
// run does.
#pragma once

#include <stdint.h>

#include "analyze/machine/block-requests.h"
#include "analyze/machine/faults.h"
#include "analyze/ops/overview.h"
#include "analyze/walk/names.h"

struct ggs_aggregate_op {
    const char * op;
    const char * backend; // instead of an op: nodes of a backend that is seen as a whole; else NULL
    uint64_t     ops, op_runs;
    uint64_t     untimed; // of ops: their times were not seen
    uint64_t     wall_ns, busy_ns,
        wait_ns;       // wall: first begin to last end, summed over ops; of a backend that of its graph runs
    bool     unwaited; // waits were not all seen: on a device, say
    uint64_t bytes_read, bytes_written, bytes_disk;
};

struct ggs_aggregate_tensor {
    const char * name; // lives as long as the window
    uint64_t     reads, bytes;
};

struct ggs_aggregate_lane {
    uint64_t lane;
    bool     device;                       // a queue, or whole graphs: no page fault holds it up
    bool     whole;                        // whole graphs: when it computes is not known
    bool     unwaited;                     // waits were not all seen: on a device, say
    double   busy_ns, wait_ns, stalled_ns; // busy: stalls included
};

struct ggs_aggregate {
    int64_t                       begin_ns, end_ns;
    int64_t                       first_token, last_token; // -1: none
    struct ggs_aggregate_op       all;                     // its `op` is NULL
    struct ggs_aggregate_op *     by_op;                   // longest first; those without ops left out
    uint64_t                      n_by_op, by_op_capacity;
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
