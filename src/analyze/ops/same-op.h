// The same op in other token steps, to judge whether its time is normal.
//
// Two ops are the same if they have the same type, results of the same name, the same place among
// the ops of that name in their graph, and steps of the same phase: a prompt takes longer than a
// token, and all norms of a layer have one name.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_SAME_OPS_MOST = 1000 };

struct ggs_same_op {
    int64_t  step;
    uint64_t run, node;
    int64_t  begin_ns;
    uint64_t wall_ns;
    uint64_t wait_ns; // summed over threads
};

struct ggs_same_ops {
    struct ggs_same_op * rows; // in order of time; of many ops the slowest of every few, and the requested one
    uint64_t             n, capacity;
    uint64_t             ops; // total
    uint64_t             least_ns, median_ns, most_ns;
    uint64_t             ops_per_row;
};

// GGS_ABSENT if the node was not computed in that run, or its time was not seen.
int  ggs_same_ops_find(struct ggs_same_ops * same, struct ggs_trace * trace, uint64_t run, uint64_t node,
                       struct ggs_error * error);
void ggs_same_ops_release(struct ggs_same_ops * same); // a zeroed struct is fine
