// Totals of the page faults of a recording: counts, and stalled time. Counts of major faults
// mislead, because readahead turns most waits for the disk into minor faults: the time matters.
#pragma once

#include <stdint.h>

#include "analyze/machine/where.h"
#include "analyze/ops/totals.h"
#include "analyze/walk/names.h"

struct ggs_fault_sum {
    uint64_t minor, major, open; // open: end not seen, so they count no time
    uint64_t stalled_ns;
};

struct ggs_fault_group {
    const char *         name;  // lives as long as the totals and the trace
    int64_t              order; // layers, tokens and experts: their number, -1 for none
    struct ggs_fault_sum sum;
};

struct ggs_fault_groups {
    struct ggs_fault_group * group;
    uint64_t                 n, capacity;
};

struct ggs_fault_totals {
    struct ggs_fault_sum    all;
    struct ggs_fault_sum    model;  // in the files of the recording
    struct ggs_fault_sum    in_ops; // while an op was computed
    struct ggs_fault_sum    stages[GGS_STAGES];
    struct ggs_fault_groups by_op, by_weight;   // longest stall first
    struct ggs_fault_groups by_expert;          // the same: weights, and each expert of those with experts
    struct ggs_fault_groups by_layer, by_token; // by number
    uint64_t                lost;               // samples that the kernel dropped
    struct ggs_names *      op_names;
    struct ggs_names *      weight_names;
    struct ggs_names *      expert_names;
};

// With a range of steps or a filter: only what matches; otherwise including the start of the
// program.
int  ggs_fault_totals_compute(struct ggs_fault_totals * totals, struct ggs_trace * trace,
                              const struct ggs_totals_range * range, struct ggs_error * error);
void ggs_fault_totals_release(struct ggs_fault_totals * totals);

// Walks single faults in order of time.
struct ggs_fault_walk {
    struct ggs_fault       fault;
    struct ggs_whereabouts where;
    // private
    struct ggs_cursor * cursor;
    struct ggs_where *  places;
};

int  ggs_fault_walk_open(struct ggs_fault_walk * walk, struct ggs_trace * trace, struct ggs_error * error);
void ggs_fault_walk_close(struct ggs_fault_walk * walk);                          // a zeroed struct is fine
int  ggs_fault_walk_next(struct ggs_fault_walk * walk, struct ggs_error * error); // 1, 0 at the end, or negative

const char * ggs_fault_kind_name(uint64_t kind); // "minor", "major", "open"

// For timelines: [begin_ns, end_ns) in `n` equal bins. A fault counts in the bin of its start, its
// stall in all bins that it covers.
struct ggs_fault_bin {
    uint64_t minor, major;
    double   stalled_ns;
};
int ggs_fault_timeline(struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns, struct ggs_fault_bin * bins,
                       uint64_t n, struct ggs_error * error);
