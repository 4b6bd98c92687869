// The activity of lanes in a time window, for a picture of a given width: single op runs if they
// are few, otherwise bins at least a pixel wide, from a level of detail or, if that is too coarse
// for the picture, from the op runs. The levels also have the number of op runs, so a wide window
// never reads op runs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/lanes/node-ops.h"
#include "analyze/ops/overview.h"
#include "analyze/walk/names.h"
#include "analyze/walk/trace.h"

enum { GGS_TIMELINE_PIXELS_MOST = 4096 };

// The levels of detail of a trace as powers of two, finest first.
struct ggs_timeline_levels {
    uint64_t level[64];
    unsigned n;
};

int ggs_timeline_levels(struct ggs_timeline_levels * levels, struct ggs_reader * reader, struct ggs_error * error);

struct ggs_timeline_window {
    int64_t  begin_ns, end_ns; // at least 1 ns
    uint64_t pixels;           // 1 .. GGS_TIMELINE_PIXELS_MOST
};

// Times are in nanoseconds. `begin` is relative to the window.
struct ggs_timeline_bin {
    double   begin, busy, wait, stalled, disk_wait, longest_ns;
    double   fits; // of busy: in ops that match trace->filter
    uint32_t count, longest_run, longest_node;
    uint16_t lane, longest_op; // UINT16_MAX: unknown
    int16_t  longest_layer;    // -1: none
};

enum ggs_timeline_flags { GGS_TIMELINE_NOT_ENDED = 1, GGS_TIMELINE_FUSED = 2, GGS_TIMELINE_EXTRA = 4 };

struct ggs_timeline_op {
    double   begin, duration, wait, inner, stalled, disk_wait; // wait: after the op; the others: inside it
    uint32_t run, node;
    uint32_t server_run; // of a whole graph run that a server computed: its run there; 0: none
    int32_t  token;
    uint16_t lane, op, thread; // op UINT16_MAX: a whole graph run
    uint16_t label;            // in ggs_timeline_view.labels; UINT16_MAX: none
    int16_t  layer;
    uint8_t  flags; // enum ggs_timeline_flags
    uint8_t  fits;  // 1 if it matches trace->filter
};

struct ggs_timeline_view {
    bool                      one_by_one; // op runs, not bins
    uint64_t                  level;      // of the bins, which are 2^level ns wide
    struct ggs_timeline_bin * bins;
    struct ggs_timeline_op *  ops; // by run, node and thread
    uint64_t                  n_bins, bins_capacity, n_ops, ops_capacity;
    struct ggs_names * labels; // what ops compute with: "ffn_up" for the product with that matrix, else the result
    uint32_t           n_labels;
};

// Data shared by many windows of one trace. The trace is the caller's (ggs_trace_borrow).
struct ggs_timeline_source {
    struct ggs_trace *                 trace;
    const struct ggs_overview *        overview;
    const struct ggs_timeline_levels * levels;
    const struct ggs_node_ops *        node_ops;
};

int  ggs_timeline_compute(struct ggs_timeline_view * timeline, const struct ggs_timeline_source * source,
                          struct ggs_timeline_window window, struct ggs_error * error);
void ggs_timeline_release(struct ggs_timeline_view * timeline);
