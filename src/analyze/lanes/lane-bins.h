// What lanes did, folded into bins of 2^level ns: how long they computed, waited and stood still,
// and which op took most of each.
//
// Traces hold such bins (table `lod`), some 40 op runs wide. If a picture has more pixels than
// that, bins are made from the op runs.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_lane_bin {
    double   busy_ns, wait_ns; // busy: in ops, stalls included
    double   stalled_ns;       // held up by page faults
    double   disk_wait_ns;     // until ggscope stream had brought the weights
    double   longest_ns;       // of the op that has most of the bin: its whole duration
    uint64_t longest_run, longest_node;
    uint64_t count; // op runs that begin in it
};

struct ggs_lane_bins {
    int64_t               begin_ns; // of the first bin: a multiple of their width
    unsigned              level;
    uint64_t              n_lanes, n; // n: bins of a lane
    struct ggs_lane_bin * bins;       // lane by lane
    double *              most;       // by bin: what its longest op has of it
};

// The bins that touch [begin_ns, end_ns).
int  ggs_lane_bins_init(struct ggs_lane_bins * bins, uint64_t lanes, int64_t begin_ns, int64_t end_ns, unsigned level,
                        struct ggs_error * error);
void ggs_lane_bins_release(struct ggs_lane_bins * bins);
void ggs_lane_bins_add(struct ggs_lane_bins * bins, uint64_t lane, const struct ggs_op_run * op);
// `wait_ns` of the time between the two.
void ggs_lane_bins_disk_wait(struct ggs_lane_bins * bins, uint64_t lane, int64_t begin_ns, int64_t end_ns,
                             uint64_t wait_ns);
void ggs_lane_bins_stall(struct ggs_lane_bins * bins, uint64_t lane, int64_t begin_ns, uint64_t duration_ns);
