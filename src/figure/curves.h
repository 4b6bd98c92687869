// Curves below the lanes of a timeline: buffers, bytes addressed, disk reads, page faults, stalls,
// waits for the disk, transfers. Each has a line of its own, up to the amount in its name.
#pragma once

#include "analyze/lanes/timeline.h"
#include "analyze/ops/overview.h"
#include "figure/figure.h"

enum { GGS_CURVES_MOST = 8, GGS_CURVES_PIXELS = 400 };

struct ggs_figure_curves {
    struct ggs_timeline_window window;
    unsigned                   n;
    struct {
        char   name[GGS_AXIS_LABEL];
        double values[GGS_CURVES_PIXELS], most;
    } curve[GGS_CURVES_MOST];
};

// Leaves out curves that were not recorded or are zero.
int ggs_figure_curves_read(struct ggs_figure_curves * curves, struct ggs_trace * trace,
                           const struct ggs_overview * overview, struct ggs_timeline_window window,
                           struct ggs_error * error);
// Adds them to the chart, in lines from `first` on.
void ggs_figure_curves_add(const struct ggs_figure_curves * curves, struct ggs_chart * chart, uint64_t first);
