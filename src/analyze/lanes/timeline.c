#include "analyze/lanes/timeline.h"

#include <stdlib.h>

#include "analyze/lanes/lane-bins.h"
#include "analyze/lanes/timeline-marks.h"
#include "analyze/machine/disk-waits.h"
#include "analyze/machine/stalls.h"
#include "analyze/walk/times.h"
#include "analyze/walk/walk.h"
#include "base/array.h"
#include "base/error.h"
#include "trace/seal/runs/lods.h"

enum { RAW_MOST = 50000, FOLDED_MOST = 400000, BINS_MOST = 1 << 20, LOOKUPS_MOST = 64 };

// A graph of the runs in the window, and the layers of its nodes.
struct used_graph {
    struct ggs_graph * graph;
    int16_t *          layers;
    uint16_t *         labels;
};

enum { GRAPHS_MOST = 64 };

struct view {
    struct ggs_timeline_view *         out;
    struct ggs_trace *                 trace;
    const struct ggs_overview *        overview;
    const struct ggs_timeline_levels * levels;
    const struct ggs_node_ops *        node_ops;
    struct ggs_timeline_window         window;
    uint64_t *                         in_lane; // estimated op runs that start in the window, by lane
    uint64_t *                         device;  // by lane of the trace - 1
    uint64_t                           n_device;
    uint64_t                           op_runs; // total
    struct ggs_lane_bins               folded;
    struct used_graph                  graphs[GRAPHS_MOST];
    unsigned                           n_graphs;
};

// ---- bins ----

static uint64_t pixel_of(const struct view * view) {
    return (uint64_t) (view->window.end_ns - view->window.begin_ns) / view->window.pixels;
}

static bool too_many(const struct view * view, uint64_t level) {
    uint64_t n = ((uint64_t) (view->window.end_ns - view->window.begin_ns) >> level) + 2;
    return n > BINS_MOST || n * (view->overview->n_lanes + 1) > BINS_MOST;
}

// The finest level whose bins are at least a pixel wide.
static uint64_t choose_level(const struct view * view) {
    const uint64_t * levels = view->levels->level;
    unsigned         n      = view->levels->n;
    uint64_t         chosen = n == 0 ? 0 : levels[n - 1];
    for (unsigned i = n; i-- > 0 && 1ull << levels[i] >= pixel_of(view) && !too_many(view, levels[i]);)
        chosen = levels[i];
    while (chosen < 62 && too_many(view, chosen)) chosen++;
    return chosen;
}

// Whole graphs of several devices have the same slot and thread: the lane of the trace
// distinguishes them.
static int lane_of(const struct view * view, const struct ggs_lod * row) {
    if (row->slot >= 0) return ggs_overview_lane(view->overview, row->slot, row->thread);
    uint64_t device = row->lane > 0 && row->lane <= view->n_device ? view->device[row->lane - 1] : 0;
    return ggs_overview_whole(view->overview, device);
}

static int read_devices(struct view * view, struct ggs_error * error) {
    struct ggs_reader * reader = view->trace->reader;
    struct ggs_cursor * cursor;
    struct ggs_lane     row;
    uint64_t            n      = ggs_reader_rows(reader, GGS_TABLE_LANES);
    int                 status = ggs_cursor_open(&cursor, reader, GGS_TABLE_LANES, error);
    if (status < 0) return status;
    view->device = calloc(n + 1, sizeof(*view->device));
    if (view->device == NULL) status = ggs_fail_memory(error);
    while (status >= 0 && view->n_device < n && (status = ggs_cursor_next(cursor, &row, error)) > 0)
        view->device[view->n_device++] = row.device;
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// Adds a bin of the trace, which is a part of ours if it is narrower.
static void add_bin(struct view * view, const struct ggs_lod * row) {
    struct ggs_lane_bins * folded = &view->folded;
    int                    lane   = lane_of(view, row);
    if (lane < 0) return;
    view->in_lane[lane] += row->count;
    view->op_runs += row->count;
    if (row->begin_ns < folded->begin_ns) return;
    uint64_t at = (uint64_t) (row->begin_ns - folded->begin_ns) >> folded->level;
    if (at >= folded->n) return;
    struct ggs_lane_bin * bin = &folded->bins[(uint64_t) lane * folded->n + at];
    bin->busy_ns += (double) row->busy_ns;
    bin->wait_ns += (double) row->wait_ns;
    bin->count += row->count;
    if (row->count > 0 && (double) row->longest_ns >= bin->longest_ns) {
        bin->longest_ns   = (double) row->longest_ns;
        bin->longest_run  = row->longest_run;
        bin->longest_node = row->longest_node;
    }
}

static int read_bins(struct view * view, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_lod      row;
    int64_t             width = 1ll << view->out->level;
    int status = ggs_lane_bins_init(&view->folded, view->overview->n_lanes, view->window.begin_ns, view->window.end_ns,
                                    (unsigned) view->out->level, error);
    if (status == 0) status = read_devices(view, error);
    if (status == 0) status = ggs_cursor_open(&cursor, view->trace->reader, GGS_TABLE_LOD, error);
    if (status < 0) return status;
    // Times of rows are their starts: the previous bin reaches into the window.
    ggs_cursor_keys(cursor, (int64_t) view->out->level, (int64_t) view->out->level);
    ggs_cursor_times(cursor, view->window.begin_ns - width, view->window.end_ns);
    while ((status = ggs_cursor_next(cursor, &row, error)) > 0) add_bin(view, &row);
    ggs_cursor_close(cursor);
    return status;
}

// ---- op runs ----

static bool few_enough(const struct view * view) {
    if (view->op_runs > RAW_MOST) return false;
    for (uint64_t i = 0; i < view->overview->n_lanes; i++) {
        if (view->in_lane[i] > 2 * view->window.pixels) return false;
    }
    return true;
}

// Returns the level of bins as wide as a pixel if those of the trace are so wide that the picture
// would have steps.
static bool finer_level(const struct view * view, uint64_t * level) {
    uint64_t pixel = pixel_of(view), finer = 0;
    while (finer < view->out->level && 1ull << finer < pixel) finer++;
    *level = finer;
    return finer + 1 < view->out->level && view->op_runs <= FOLDED_MOST && !too_many(view, finer);
}

static int add_whole(struct view * view, const struct ggs_run * run, struct ggs_error * error) {
    int lane = ggs_overview_whole(view->overview, run->device);
    if (lane < 0) return 0;
    if (!ggs_array_reserve(view->out->ops, view->out->ops_capacity, view->out->n_ops + 1))
        return ggs_fail_memory(error);
    view->out->ops[view->out->n_ops++] =
        (struct ggs_timeline_op){.begin      = (double) (run->begin_ns - view->window.begin_ns),
                                 .duration   = (double) (run->end_ns - run->begin_ns),
                                 .run        = (uint32_t) run->run,
                                 .server_run = ggs_run_is_elsewhere(run) ? (uint32_t) run->peer : 0,
                                 .token      = (int32_t) run->step,
                                 .lane       = (uint16_t) lane,
                                 .op         = UINT16_MAX,
                                 .label      = UINT16_MAX,
                                 .fits       = 1,
                                 .layer      = -1};
    return 0;
}

static void release_graphs(struct view * view) {
    for (unsigned i = 0; i < view->n_graphs; i++) {
        ggs_graph_free(view->graphs[i].graph);
        free(view->graphs[i].layers);
        free(view->graphs[i].labels);
    }
    view->n_graphs = 0;
}

// Runs of few graphs alternate: each graph is read once per window.
static int find_graph(struct view * view, uint64_t number, const struct used_graph ** out, struct ggs_error * error) {
    for (unsigned i = 0; i < view->n_graphs; i++) {
        *out = &view->graphs[i];
        if (view->graphs[i].graph->row.graph == number) return 0;
    }
    if (view->n_graphs == GRAPHS_MOST) release_graphs(view);
    struct used_graph * used = &view->graphs[view->n_graphs];
    *used                    = (struct used_graph){0};
    int status               = ggs_reader_graph(view->trace->reader, number, &used->graph, error);
    if (status < 0) return status;
    view->n_graphs++;
    used->layers = malloc((used->graph->n_nodes + 1) * sizeof(*used->layers));
    used->labels = malloc((used->graph->n_nodes + 1) * sizeof(*used->labels));
    if (used->layers == NULL || used->labels == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < used->graph->n_nodes; i++) {
        used->layers[i] = (int16_t) ggs_trace_node_layer(view->trace, used->graph, i);
        used->labels[i] = ggs_timeline_label(view->out, view->trace, used->graph, i);
    }
    *out = used;
    return 0;
}

static int add_op_run(struct view * view, const struct ggs_run * run, const struct used_graph * used,
                      const struct ggs_op_run * row, struct ggs_error * error) {
    const struct ggs_graph * graph = used->graph;
    int                      lane  = ggs_overview_lane(view->overview, run->slot, row->thread);
    if (lane < 0 || row->node >= graph->n_nodes) return 0;
    if (!ggs_array_reserve(view->out->ops, view->out->ops_capacity, view->out->n_ops + 1))
        return ggs_fail_memory(error);
    uint64_t op    = graph->nodes[row->node].op;
    uint64_t inner = row->inner_wait_ns < row->duration_ns ? row->inner_wait_ns : row->duration_ns;
    view->out->ops[view->out->n_ops++] =
        (struct ggs_timeline_op){.begin    = (double) (row->begin_ns - view->window.begin_ns),
                                 .duration = (double) row->duration_ns,
                                 .wait     = (double) row->wait_ns,
                                 .inner    = (double) inner,
                                 .run      = (uint32_t) row->run,
                                 .node     = (uint32_t) row->node,
                                 .token    = (int32_t) run->step,
                                 .lane     = (uint16_t) lane,
                                 .thread   = (uint16_t) row->thread,
                                 .op       = op < UINT16_MAX ? (uint16_t) op : UINT16_MAX,
                                 .layer    = used->layers[row->node],
                                 .label    = used->labels[row->node],
                                 .fits     = 1,
                                 .flags    = (uint8_t) ((row->flags & GGS_OP_RUN_ENDED ? 0 : GGS_TIMELINE_NOT_ENDED) |
                                                     (row->flags & GGS_OP_RUN_FUSED ? GGS_TIMELINE_FUSED : 0) |
                                                     (row->flags & GGS_OP_RUN_EXTRA ? GGS_TIMELINE_EXTRA : 0))};
    return 0;
}

// The destination of op runs: a list, or bins.
struct target {
    struct view *          view;
    struct ggs_lane_bins * bins; // NULL: a list
};

static int put_whole(const struct target * target, const struct ggs_run * run, struct ggs_error * error) {
    if (target->bins == NULL) return add_whole(target->view, run, error);
    int               lane = ggs_overview_whole(target->view->overview, run->device);
    struct ggs_op_run all  = {
         .run = run->run, .begin_ns = run->begin_ns, .duration_ns = ggs_time_between(run->begin_ns, run->end_ns)};
    if (lane >= 0) ggs_lane_bins_add(target->bins, (uint64_t) lane, &all);
    return 0;
}

static int read_run(const struct target * target, struct ggs_cursor * op_runs, const struct ggs_run * run,
                    struct ggs_error * error) {
    struct view *             view = target->view;
    const struct used_graph * used = NULL;
    struct ggs_op_run         row;
    if ((run->flags & GGS_RUN_OPAQUE) != 0) return put_whole(target, run, error);
    if (run->op_runs == 0) return 0;
    int status = target->bins != NULL ? 0 : find_graph(view, run->graph, &used, error);
    if (status < 0) return status;
    ggs_cursor_range(op_runs, run->first_op_run, run->op_runs);
    while (status >= 0 && view->out->n_ops <= RAW_MOST && (status = ggs_cursor_next(op_runs, &row, error)) > 0) {
        if (row.run != run->run) continue;
        if (target->bins == NULL) {
            status = add_op_run(view, run, used, &row, error);
        } else {
            int lane = ggs_overview_lane(view->overview, run->slot, row.thread);
            if (lane >= 0) ggs_lane_bins_add(target->bins, (uint64_t) lane, &row);
        }
    }
    return status;
}

// Reads the op runs of a time range through the graph runs that touch it.
static int read_op_runs(const struct target * target, int64_t begin, int64_t end, struct ggs_error * error) {
    struct view *       view   = target->view;
    struct ggs_reader * reader = view->trace->reader;
    struct ggs_cursor * runs = NULL, *op_runs = NULL;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&runs, reader, GGS_TABLE_RUNS, error);
    if (status == 0) status = ggs_cursor_open(&op_runs, reader, GGS_TABLE_OP_RUNS, error);
    if (status == 0) {
        ggs_cursor_times(runs, begin, end);
        ggs_cursor_times(op_runs, begin, end);
    }
    while (status >= 0 && view->out->n_ops <= RAW_MOST && (status = ggs_cursor_next(runs, &run, error)) > 0)
        status = read_run(target, op_runs, &run, error);
    ggs_cursor_close(runs);
    ggs_cursor_close(op_runs);
    return status < 0 ? status : 0;
}

// Makes bins as wide as a pixel in place of those of the trace.
static int fold_op_runs(struct view * view, uint64_t level, struct ggs_error * error) {
    struct target target = {view, &view->folded};
    ggs_lane_bins_release(&view->folded);
    view->out->level = level;
    int status = ggs_lane_bins_init(&view->folded, view->overview->n_lanes, view->window.begin_ns, view->window.end_ns,
                                    (unsigned) level, error);
    return status < 0 ? status : read_op_runs(&target, view->window.begin_ns, view->window.end_ns, error);
}

// ---- bins inside a long op ----

static struct ggs_lane_bin * bin_at(const struct ggs_lane_bins * bins, uint64_t lane, uint64_t i) {
    return &bins->bins[lane * bins->n + i];
}

static bool is_within(const struct ggs_lane_bin * bin) {
    return bin->longest_run == 0 && bin->busy_ns > 0;
}

// A bin of the trace in which no op starts has no op. It belongs to the previous op; at the edge of
// the window the op runs decide.
static int carry_ops(struct view * view, struct ggs_error * error) {
    const struct ggs_lane_bins * bins    = &view->folded;
    unsigned                     lookups = 0;
    for (uint64_t i = 0; i < bins->n; i++) {
        for (uint64_t lane = 0; lane < bins->n_lanes; lane++) {
            struct ggs_lane_bin * bin = bin_at(bins, lane, i);
            if (!is_within(bin)) continue;
            const struct ggs_lane_bin * before = i == 0 ? NULL : bin_at(bins, lane, i - 1);
            // An op at least as long as a bin extends beyond the bin in which it started; among
            // shorter ones it may be another.
            bool reaches = before != NULL && before->longest_run != 0 &&
                           (before->longest_ns >= (double) (1ull << bins->level) || lookups >= LOOKUPS_MOST);
            if (reaches) {
                bin->longest_ns = before->longest_ns, bin->longest_run = before->longest_run;
                bin->longest_node = before->longest_node;
            } else if (lookups++ < LOOKUPS_MOST) {
                int64_t              begin = bins->begin_ns + (int64_t) (i << bins->level);
                struct ggs_lane_bins one;
                struct target        target = {view, &one};
                int                  status =
                    ggs_lane_bins_init(&one, bins->n_lanes, begin, begin + (1ll << bins->level), bins->level, error);
                if (status == 0) status = read_op_runs(&target, begin, begin + (1ll << bins->level), error);
                for (uint64_t k = 0; status == 0 && k < bins->n_lanes; k++) {
                    struct ggs_lane_bin * same = bin_at(bins, k, i);
                    if (!is_within(same)) continue;
                    same->longest_ns = one.bins[k].longest_ns, same->longest_run = one.bins[k].longest_run;
                    same->longest_node = one.bins[k].longest_node;
                }
                ggs_lane_bins_release(&one);
                if (status < 0) return status;
            }
        }
    }
    return 0;
}

// ---- stalls ----

static int by_op(const void * a, const void * b) {
    const struct ggs_timeline_op *x = a, *y = b;
    if (x->run != y->run) return x->run < y->run ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static struct ggs_timeline_op * find_op_run(const struct view * view, uint64_t run, uint64_t node, uint64_t thread) {
    struct ggs_timeline_op key = {.run = (uint32_t) run, .node = (uint32_t) node, .thread = (uint16_t) thread};
    return view->out->n_ops == 0 ? NULL : bsearch(&key, view->out->ops, view->out->n_ops, sizeof(key), by_op);
}

static int add_stalls(struct view * view, struct ggs_error * error) {
    struct ggs_stall_walk walk;
    if (ggs_reader_rows(view->trace->reader, GGS_TABLE_FAULTS) == 0) return 0;
    int more, status = ggs_stall_walk_open(&walk, view->trace, view->window.begin_ns, view->window.end_ns, error);
    if (status < 0) return status;
    while ((more = ggs_stall_walk_next(&walk, error)) > 0) {
        int lane = ggs_overview_lane(view->overview, walk.slot, walk.thread);
        if (view->out->one_by_one) {
            struct ggs_timeline_op * row = find_op_run(view, walk.fault.run, walk.fault.node, walk.thread);
            if (row != NULL) row->stalled += (double) walk.fault.duration_ns;
        } else if (lane >= 0) {
            ggs_lane_bins_stall(&view->folded, (uint64_t) lane, walk.fault.begin_ns, walk.fault.duration_ns);
        }
    }
    ggs_stall_walk_close(&walk);
    return more;
}

static void add_disk_wait(void * context, const struct ggs_disk_wait * wait) {
    struct view * view = context;
    int           lane = ggs_overview_lane(view->overview, wait->slot, wait->thread);
    if (view->out->one_by_one) {
        struct ggs_timeline_op * row = find_op_run(view, wait->run, wait->node, wait->thread);
        if (row != NULL) row->disk_wait += (double) wait->wait_ns;
    } else if (lane >= 0) {
        ggs_lane_bins_disk_wait(&view->folded, (uint64_t) lane, wait->begin_ns, wait->end_ns, wait->wait_ns);
    }
}

// ---- interface ----

static int list_bins(struct view * view, struct ggs_error * error) {
    const struct ggs_lane_bins * folded = &view->folded;
    for (uint64_t i = 0; i < folded->n_lanes * folded->n; i++) {
        const struct ggs_lane_bin * bin  = &folded->bins[i];
        uint64_t                    lane = i / folded->n;
        if (bin->count == 0 && bin->busy_ns <= 0 && bin->wait_ns <= 0) continue;
        if (!ggs_array_reserve(view->out->bins, view->out->bins_capacity, view->out->n_bins + 1))
            return ggs_fail_memory(error);
        const struct ggs_overview_run * run     = ggs_overview_find(view->overview, bin->longest_run);
        bool                            known   = run != NULL && view->overview->lanes[lane].slot >= 0;
        struct ggs_node_op              longest = {UINT16_MAX, -1};
        if (known) longest = ggs_node_ops_get(view->node_ops, run->graph, bin->longest_node);
        int64_t begin = folded->begin_ns + (int64_t) ((i % folded->n) << folded->level) - view->window.begin_ns;
        view->out->bins[view->out->n_bins++] = (struct ggs_timeline_bin){.begin         = (double) begin,
                                                                         .busy          = bin->busy_ns,
                                                                         .wait          = bin->wait_ns,
                                                                         .stalled       = bin->stalled_ns,
                                                                         .disk_wait     = bin->disk_wait_ns,
                                                                         .count         = (uint32_t) bin->count,
                                                                         .longest_ns    = bin->longest_ns,
                                                                         .longest_run   = (uint32_t) bin->longest_run,
                                                                         .longest_node  = (uint32_t) bin->longest_node,
                                                                         .fits          = bin->busy_ns,
                                                                         .lane          = (uint16_t) lane,
                                                                         .longest_op    = longest.op,
                                                                         .longest_layer = longest.layer};
    }
    return 0;
}

static int fill(struct view * view, struct ggs_error * error) {
    struct ggs_timeline_view * out    = view->out;
    struct target              target = {view, NULL};
    uint64_t                   level;
    out->level = choose_level(view);
    int status = read_bins(view, error);
    if (status == 0 && few_enough(view)) {
        status          = read_op_runs(&target, view->window.begin_ns, view->window.end_ns, error);
        out->one_by_one = out->n_ops <= RAW_MOST;
        if (!out->one_by_one) out->n_ops = 0;
    }
    if (status == 0 && !out->one_by_one)
        status = finer_level(view, &level) ? fold_op_runs(view, level, error) : carry_ops(view, error);
    if (status == 0 && out->n_ops > 1) qsort(out->ops, out->n_ops, sizeof(*out->ops), by_op);
    if (status == 0) status = add_stalls(view, error);
    if (status == 0)
        status =
            ggs_disk_waits_visit(view->trace, view->window.begin_ns, view->window.end_ns, add_disk_wait, view, error);
    if (status == 0 && !out->one_by_one) status = list_bins(view, error);
    if (status == 0 && view->trace->filter != NULL)
        status = ggs_timeline_mark(out, view->trace, view->overview, &view->window, error);
    return status;
}

int ggs_timeline_compute(struct ggs_timeline_view * timeline, const struct ggs_timeline_source * source,
                         struct ggs_timeline_window window, struct ggs_error * error) {
    struct view view = {.out      = timeline,
                        .trace    = source->trace,
                        .overview = source->overview,
                        .levels   = source->levels,
                        .node_ops = source->node_ops,
                        .window   = window,
                        .in_lane  = calloc(source->overview->n_lanes + 1, sizeof(*view.in_lane))};
    *timeline        = (struct ggs_timeline_view){.labels = ggs_names_new()};
    bool memory      = view.in_lane != NULL && timeline->labels != NULL;
    int  status      = memory ? fill(&view, error) : ggs_fail_memory(error);
    release_graphs(&view);
    ggs_lane_bins_release(&view.folded);
    free(view.in_lane);
    free(view.device);
    if (status < 0) ggs_timeline_release(timeline);
    return status;
}

void ggs_timeline_release(struct ggs_timeline_view * timeline) {
    free(timeline->bins);
    free(timeline->ops);
    ggs_names_free(timeline->labels);
    *timeline = (struct ggs_timeline_view){0};
}

// The finest level is filled first, and the coarsest is written last.
int ggs_timeline_levels(struct ggs_timeline_levels * levels, struct ggs_reader * reader, struct ggs_error * error) {
    struct ggs_lod first, last;
    uint64_t       rows = ggs_reader_rows(reader, GGS_TABLE_LOD);
    levels->n           = 0;
    if (rows == 0) return 0;
    int status = ggs_reader_row(reader, GGS_TABLE_LOD, 0, &first, error);
    if (status == 0) status = ggs_reader_row(reader, GGS_TABLE_LOD, rows - 1, &last, error);
    for (uint64_t level = first.level; status == 0 && level <= last.level && level < 62; level += GGS_LOD_SHIFT)
        levels->level[levels->n++] = level;
    return status;
}
