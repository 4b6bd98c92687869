#include "analyze/lanes/timeline-marks.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/lanes/lane-bins.h"
#include "analyze/walk/walk.h"
#include "base/error.h"
#include "gguf/gguf-name.h"

// ---- labels ----

// Returns the largest weight that a node reads; NULL if there is none.
static const struct ggs_tensor * weight_of(const struct ggs_trace * trace, const struct ggs_graph * graph,
                                           uint64_t node) {
    const struct ggs_tensor * best = NULL;
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        const struct ggs_tensor * t = ggs_trace_tensor(trace, graph->edges[e].tensor);
        uint64_t                  file, offset;
        if (t == NULL || !ggs_trace_origin(t, &file, &offset)) continue;
        if (best == NULL || ggs_trace_extent(trace, t) > ggs_trace_extent(trace, best)) best = t;
    }
    return best;
}

// The length of a result's name without its layer: "Qcur-7 (view)" is "Qcur", "cache_v_l7" is
// "cache_v". 0: no name.
static size_t plain_length(const char * name) {
    size_t length = strcspn(name, " (");
    size_t digits = length;
    if (strncmp(name, "node_", 5) == 0 || strncmp(name, "leaf_", 5) == 0) return 0;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') digits--;
    if (digits == length) return length;
    if (digits > 1 && name[digits - 1] == '-') return digits - 1;
    return digits > 2 && strncmp(&name[digits - 2], "_l", 2) == 0 ? digits - 2 : length;
}

uint16_t ggs_timeline_label(struct ggs_timeline_view * timeline, const struct ggs_trace * trace,
                            const struct ggs_graph * graph, uint64_t node) {
    const struct ggs_tensor * weight = weight_of(trace, graph, node);
    uint64_t                  tensor = weight == NULL ? graph->nodes[node].tensor : weight->tensor;
    const char *              name   = ggs_trace_tensor_name(trace, tensor);
    size_t                    length = plain_length(name);
    if (weight != NULL) {
        struct ggs_name parsed = ggs_name_parse(name, strlen(name));
        if (parsed.component_length > 0) name = parsed.component, length = parsed.component_length;
    }
    if (length == 0) return UINT16_MAX;
    uint32_t number = ggs_names_number(timeline->labels, name, length);
    if (number >= UINT16_MAX) return UINT16_MAX;
    if (number >= timeline->n_labels) timeline->n_labels = number + 1;
    return (uint16_t) number;
}

// ---- the filter ----

static int by_op(const void * a, const void * b) {
    const struct ggs_timeline_op *x = a, *y = b;
    if (x->run != y->run) return x->run < y->run ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

struct marking {
    struct ggs_timeline_view *  timeline;
    const struct ggs_overview * overview;
    struct ggs_lane_bins        bins; // of matching ops, if the timeline has bins
};

static void mark_op(struct marking * marking, const struct ggs_walk * walk) {
    struct ggs_timeline_view * timeline = marking->timeline;
    for (uint64_t i = 0; i < walk->op.n_op_runs; i++) {
        const struct ggs_op_run * row = &walk->op.op_runs[i];
        if (timeline->one_by_one) {
            struct ggs_timeline_op key = {
                .run = (uint32_t) row->run, .node = (uint32_t) row->node, .thread = (uint16_t) row->thread};
            struct ggs_timeline_op * found =
                timeline->n_ops == 0 ? NULL : bsearch(&key, timeline->ops, timeline->n_ops, sizeof(key), by_op);
            if (found != NULL) found->fits = 1;
        } else {
            int lane = ggs_overview_lane(marking->overview, walk->run.slot, row->thread);
            if (lane >= 0) ggs_lane_bins_add(&marking->bins, (uint64_t) lane, row);
        }
    }
}

// A graph run that is seen as a whole has no ops: it matches if the filter names no ops.
static bool whole_fits(const struct ggs_op_filter * f, const struct ggs_overview_lane * lane) {
    if (f->layer != GGS_ANY_LAYER || f->op != NULL || f->tensor != NULL || ggs_op_filter_asks_bytes(f)) return false;
    return f->slot == GGS_ANY_SLOT || f->slot == lane->slot;
}

static int walk_window(struct marking * marking, struct ggs_trace * trace, const struct ggs_timeline_window * window,
                       struct ggs_error * error) {
    struct ggs_walk * walk;
    int               status = ggs_walk_open_window(&walk, trace, window->begin_ns, window->end_ns, error);
    if (status <= 0) return status;
    while ((status = ggs_walk_run(walk, error)) > 0)
        while (ggs_walk_op(walk)) mark_op(marking, walk);
    ggs_walk_close(walk);
    return status;
}

static void put_bins(struct marking * marking, const struct ggs_op_filter * filter,
                     const struct ggs_timeline_window * window) {
    const struct ggs_lane_bins * bins = &marking->bins;
    for (uint64_t i = 0; i < marking->timeline->n_bins; i++) {
        struct ggs_timeline_bin *        bin  = &marking->timeline->bins[i];
        const struct ggs_overview_lane * lane = &marking->overview->lanes[bin->lane];
        int64_t                          at   = (int64_t) bin->begin + window->begin_ns - bins->begin_ns;
        uint64_t                         k    = at < 0 ? bins->n : (uint64_t) at >> bins->level;
        double                           fits = k < bins->n ? bins->bins[bin->lane * bins->n + k].busy_ns : 0;
        if (lane->slot < 0) fits = whole_fits(filter, lane) ? bin->busy : 0;
        bin->fits = fits < bin->busy ? fits : bin->busy;
    }
}

int ggs_timeline_mark(struct ggs_timeline_view * timeline, struct ggs_trace * trace,
                      const struct ggs_overview * overview, const struct ggs_timeline_window * window,
                      struct ggs_error * error) {
    struct marking marking = {.timeline = timeline, .overview = overview};
    for (uint64_t i = 0; i < timeline->n_ops; i++)
        timeline->ops[i].fits =
            timeline->ops[i].op == UINT16_MAX && whole_fits(trace->filter, &overview->lanes[timeline->ops[i].lane]);
    int status = timeline->one_by_one ? 0
                                      : ggs_lane_bins_init(&marking.bins, overview->n_lanes, window->begin_ns,
                                                           window->end_ns, (unsigned) timeline->level, error);
    if (status == 0) status = walk_window(&marking, trace, window, error);
    if (status == 0 && !timeline->one_by_one) put_bins(&marking, trace->filter, window);
    ggs_lane_bins_release(&marking.bins);
    return status;
}
