// The activity of lanes in bins of 2^level ns: computing, waiting and stalled time, and the op with
// the largest share of each bin.
//
// Traces contain such bins (table `lod`), each about 40 op runs wide. If a picture has more pixels,
// bins are made from the op runs.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_lane_bin {
    double   busy_ns, wait_ns; // busy: in ops, stalls included
    double   stalled_ns;       // held up by page faults
    double   disk_wait_ns;     // for weights from ggscope stream
    double   longest_ns;       // whole duration of the op with the largest share of the bin
    uint64_t longest_run, longest_node;
    uint64_t count; // op runs that start in it
};

struct ggs_lane_bins {
    int64_t               begin_ns; // of the first bin: a multiple of the width
    unsigned              level;
    uint64_t              n_lanes, n; // n: bins per lane
    struct ggs_lane_bin * bins;       // lane by lane
    double *              most;       // by bin: time of its longest op within it
};

// Makes the bins that touch [begin_ns, end_ns).
int  ggs_lane_bins_init(struct ggs_lane_bins * bins, uint64_t lanes, int64_t begin_ns, int64_t end_ns, unsigned level,
                        struct ggs_error * error);
void ggs_lane_bins_release(struct ggs_lane_bins * bins);
void ggs_lane_bins_add(struct ggs_lane_bins * bins, uint64_t lane, const struct ggs_op_run * op);
// Adds `wait_ns` spread over the time between the two.
void ggs_lane_bins_disk_wait(struct ggs_lane_bins * bins, uint64_t lane, int64_t begin_ns, int64_t end_ns,
                             uint64_t wait_ns);
void ggs_lane_bins_stall(struct ggs_lane_bins * bins, uint64_t lane, int64_t begin_ns, uint64_t duration_ns);
