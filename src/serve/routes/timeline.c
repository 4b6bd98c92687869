// /api/x/N/timeline: what the lanes did in a window of time. Op runs one by one where they are few enough, else folded into bins that are no
// narrower than a pixel: those of a level of detail, or, where its bins are too wide for the picture, made from the op runs. How many there
// are is told by the levels themselves, so a wide window never touches the op runs.
#include <stdlib.h>
#include <string.h>

#include "analyze/lanes/gaps.h"
#include "analyze/lanes/lane-bins.h"
#include "analyze/machine/disk-waits.h"
#include "analyze/machine/stalls.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"
#include "serve/routes/columns.h"
#include "serve/routes/routes.h"

enum { PIXELS_MOST = 4096, RAW_MOST = 50000, FOLDED_MOST = 400000, BINS_MOST = 1 << 20, LOOKUPS_MOST = 64 };

struct window {
    int64_t  begin, end;
    uint64_t pixels;
};

struct bin {
    double   begin, busy, wait, stalled, disk_wait, longest_ns;
    uint32_t count, longest_run, longest_node;
    uint16_t lane, longest_op;
};

struct op_run {
    double   begin, duration, wait, inner, stalled, disk_wait; // wait: after the op; the others: inside it
    uint32_t run, node;
    int32_t  token;
    uint16_t lane, op, thread;
    int16_t  layer;
    uint8_t  flags;
};

// A graph that runs in the window use, and the layers of its nodes.
struct known {
    struct ggs_graph * graph;
    int16_t *          layers;
};

enum { KNOWN_MOST = 64 };

struct view {
    struct ggs_question *       request;
    const struct ggs_overview * overview;
    struct window               window;
    uint64_t                    level;   // of the bins
    uint64_t *                  in_lane; // op runs that begin in the window, by lane; about
    uint64_t *                  device;  // by lane of the trace - 1
    uint64_t                    n_device;
    uint64_t                    op_runs; // all of them
    struct ggs_lane_bins        folded;
    struct bin *                bins;
    uint64_t                    n_bins, bins_capacity;
    struct op_run *             rows;
    uint64_t                    n_rows, rows_capacity;
    struct known                known[KNOWN_MOST];
    unsigned                    n_known;
};

// ---- bins ----

static uint64_t pixel_of(const struct view * view) {
    return (uint64_t) (view->window.end - view->window.begin) / view->window.pixels;
}

static bool too_many(const struct view * view, uint64_t level) {
    uint64_t n = ((uint64_t) (view->window.end - view->window.begin) >> level) + 2;
    return n > BINS_MOST || n * (view->overview->n_lanes + 1) > BINS_MOST;
}

// The finest level whose bins are not narrower than a pixel.
static int choose_level(struct view * view, struct ggs_error * error) {
    uint64_t levels[64];
    unsigned n;
    int      status = ggs_snapshot_levels(view->request->snapshot, levels, &n, error);
    if (status < 0) return status;
    view->level = n == 0 ? 0 : levels[n - 1];
    for (unsigned i = n; i-- > 0 && 1ull << levels[i] >= pixel_of(view) && !too_many(view, levels[i]);)
        view->level = levels[i];
    while (view->level < 62 && too_many(view, view->level)) view->level++;
    return 0;
}

// Whole graphs of several devices have the same slot and thread: there the lane of the trace tells.
static int lane_of(const struct view * view, const struct ggs_lod * row) {
    if (row->slot >= 0) return ggs_overview_lane(view->overview, row->slot, row->thread);
    uint64_t device = row->lane > 0 && row->lane <= view->n_device ? view->device[row->lane - 1] : 0;
    return ggs_overview_whole(view->overview, device);
}

static int read_devices(struct view * view, struct ggs_error * error) {
    struct ggs_reader * reader = view->request->trace.reader;
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

// Adds a bin of the trace. One that is narrower than ours is a part of it.
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
    int64_t             width = 1ll << view->level;
    int status = ggs_lane_bins_init(&view->folded, view->overview->n_lanes, view->window.begin, view->window.end,
                                    (unsigned) view->level, error);
    if (status == 0) status = read_devices(view, error);
    if (status == 0) status = ggs_cursor_open(&cursor, view->request->trace.reader, GGS_TABLE_LOD, error);
    if (status < 0) return status;
    // Times of rows are those of their begins: what began a bin before reaches into the window.
    ggs_cursor_keys(cursor, (int64_t) view->level, (int64_t) view->level);
    ggs_cursor_times(cursor, view->window.begin - width, view->window.end);
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

// The level of bins as wide as a pixel, where those of the trace are so wide that the picture would have steps.
static bool finer_level(const struct view * view, uint64_t * level) {
    uint64_t pixel = pixel_of(view), finer = 0;
    while (finer < view->level && 1ull << finer < pixel) finer++;
    *level = finer;
    return finer + 1 < view->level && view->op_runs <= FOLDED_MOST && !too_many(view, finer);
}

static int add_whole(struct view * view, const struct ggs_run * run, struct ggs_error * error) {
    int lane = ggs_overview_whole(view->overview, run->device);
    if (lane < 0) return 0;
    if (!ggs_array_reserve(view->rows, view->rows_capacity, view->n_rows + 1)) return ggs_fail_memory(error);
    view->rows[view->n_rows++] = (struct op_run){.begin    = (double) (run->begin_ns - view->window.begin),
                                                 .duration = (double) (run->end_ns - run->begin_ns),
                                                 .run      = (uint32_t) run->run,
                                                 .token    = (int32_t) run->step,
                                                 .lane     = (uint16_t) lane,
                                                 .op       = UINT16_MAX,
                                                 .layer    = -1};
    return 0;
}

static void forget_graphs(struct view * view) {
    for (unsigned i = 0; i < view->n_known; i++) {
        ggs_graph_free(view->known[i].graph);
        free(view->known[i].layers);
    }
    view->n_known = 0;
}

// Runs of few graphs take turns: each graph is read once for a window.
static int find_graph(struct view * view, uint64_t number, const struct known ** out, struct ggs_error * error) {
    for (unsigned i = 0; i < view->n_known; i++) {
        *out = &view->known[i];
        if (view->known[i].graph->row.graph == number) return 0;
    }
    if (view->n_known == KNOWN_MOST) forget_graphs(view);
    struct known * known = &view->known[view->n_known];
    *known               = (struct known){0};
    int status           = ggs_reader_graph(view->request->trace.reader, number, &known->graph, error);
    if (status < 0) return status;
    known->layers = malloc((known->graph->n_nodes + 1) * sizeof(*known->layers));
    if (known->layers == NULL) {
        ggs_graph_free(known->graph);
        return ggs_fail_memory(error);
    }
    for (uint64_t i = 0; i < known->graph->n_nodes; i++)
        known->layers[i] = (int16_t) ggs_trace_node_layer(&view->request->trace, known->graph, i);
    view->n_known++;
    *out = known;
    return 0;
}

static int add_op_run(struct view * view, const struct ggs_run * run, const struct known * known,
                      const struct ggs_op_run * row, struct ggs_error * error) {
    const struct ggs_graph * graph = known->graph;
    int                      lane  = ggs_overview_lane(view->overview, run->slot, row->thread);
    if (lane < 0 || row->node >= graph->n_nodes) return 0;
    if (!ggs_array_reserve(view->rows, view->rows_capacity, view->n_rows + 1)) return ggs_fail_memory(error);
    uint64_t op                = graph->nodes[row->node].op;
    uint64_t inner             = row->inner_wait_ns < row->duration_ns ? row->inner_wait_ns : row->duration_ns;
    view->rows[view->n_rows++] = (struct op_run){.begin    = (double) (row->begin_ns - view->window.begin),
                                                 .duration = (double) row->duration_ns,
                                                 .wait     = (double) row->wait_ns,
                                                 .inner    = (double) inner,
                                                 .run      = (uint32_t) row->run,
                                                 .node     = (uint32_t) row->node,
                                                 .token    = (int32_t) run->step,
                                                 .lane     = (uint16_t) lane,
                                                 .thread   = (uint16_t) row->thread,
                                                 .op       = op < UINT16_MAX ? (uint16_t) op : UINT16_MAX,
                                                 .layer    = known->layers[row->node],
                                                 .flags    = (uint8_t) ((row->flags & GGS_OP_RUN_ENDED ? 0 : 1) |
                                                                     (row->flags & GGS_OP_RUN_FUSED ? 2 : 0) |
                                                                     (row->flags & GGS_OP_RUN_EXTRA ? 4 : 0))};
    return 0;
}

// What is to be done with each op run: kept as it is, or added to bins.
struct taking {
    struct view *          view;
    struct ggs_lane_bins * into; // NULL: kept
};

static int take_whole(const struct taking * taking, const struct ggs_run * run, struct ggs_error * error) {
    if (taking->into == NULL) return add_whole(taking->view, run, error);
    int               lane = ggs_overview_whole(taking->view->overview, run->device);
    struct ggs_op_run all  = {
         .run = run->run, .begin_ns = run->begin_ns, .duration_ns = ggs_time_between(run->begin_ns, run->end_ns)};
    if (lane >= 0) ggs_lane_bins_add(taking->into, (uint64_t) lane, &all);
    return 0;
}

static int read_run(const struct taking * taking, struct ggs_cursor * op_runs, const struct ggs_run * run,
                    struct ggs_error * error) {
    struct view *        view  = taking->view;
    const struct known * known = NULL;
    struct ggs_op_run    row;
    if ((run->flags & GGS_RUN_OPAQUE) != 0) return take_whole(taking, run, error);
    if (run->op_runs == 0) return 0;
    int status = taking->into != NULL ? 0 : find_graph(view, run->graph, &known, error);
    if (status < 0) return status;
    ggs_cursor_range(op_runs, run->first_op_run, run->op_runs);
    while (status >= 0 && view->n_rows <= RAW_MOST && (status = ggs_cursor_next(op_runs, &row, error)) > 0) {
        if (row.run != run->run) continue;
        if (taking->into == NULL) {
            status = add_op_run(view, run, known, &row, error);
        } else {
            int lane = ggs_overview_lane(view->overview, run->slot, row.thread);
            if (lane >= 0) ggs_lane_bins_add(taking->into, (uint64_t) lane, &row);
        }
    }
    return status;
}

// The op runs in a stretch of time, found through the graph runs that touch it.
static int read_op_runs(const struct taking * taking, int64_t begin, int64_t end, struct ggs_error * error) {
    struct view *       view   = taking->view;
    struct ggs_reader * reader = view->request->trace.reader;
    struct ggs_cursor * runs = NULL, *op_runs = NULL;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&runs, reader, GGS_TABLE_RUNS, error);
    if (status == 0) status = ggs_cursor_open(&op_runs, reader, GGS_TABLE_OP_RUNS, error);
    if (status == 0) {
        ggs_cursor_times(runs, begin, end);
        ggs_cursor_times(op_runs, begin, end);
    }
    while (status >= 0 && view->n_rows <= RAW_MOST && (status = ggs_cursor_next(runs, &run, error)) > 0)
        status = read_run(taking, op_runs, &run, error);
    ggs_cursor_close(runs);
    ggs_cursor_close(op_runs);
    return status < 0 ? status : 0;
}

// Bins as wide as a pixel instead of those of the trace.
static int fold_op_runs(struct view * view, uint64_t level, struct ggs_error * error) {
    struct taking taking = {view, &view->folded};
    ggs_lane_bins_release(&view->folded);
    view->level = level;
    int status  = ggs_lane_bins_init(&view->folded, view->overview->n_lanes, view->window.begin, view->window.end,
                                     (unsigned) level, error);
    return status < 0 ? status : read_op_runs(&taking, view->window.begin, view->window.end, error);
}

// ---- bins inside a long op ----

static struct ggs_lane_bin * bin_at(const struct ggs_lane_bins * bins, uint64_t lane, uint64_t i) {
    return &bins->bins[lane * bins->n + i];
}

static bool is_within(const struct ggs_lane_bin * bin) {
    return bin->longest_run == 0 && bin->busy_ns > 0;
}

// A bin of the trace in which no op begins says no op. It belongs to the one before it; at the window's edge the op runs are asked.
static int carry_ops(struct view * view, struct ggs_error * error) {
    const struct ggs_lane_bins * bins    = &view->folded;
    unsigned                     lookups = 0;
    for (uint64_t i = 0; i < bins->n; i++) {
        for (uint64_t lane = 0; lane < bins->n_lanes; lane++) {
            struct ggs_lane_bin * bin = bin_at(bins, lane, i);
            if (!is_within(bin)) continue;
            const struct ggs_lane_bin * before = i == 0 ? NULL : bin_at(bins, lane, i - 1);
            // An op at least as long as a bin reaches out of the one that it began in; of shorter ones it may have been another.
            bool reaches = before != NULL && before->longest_run != 0 &&
                           (before->longest_ns >= (double) (1ull << bins->level) || lookups >= LOOKUPS_MOST);
            if (reaches) {
                bin->longest_ns = before->longest_ns, bin->longest_run = before->longest_run;
                bin->longest_node = before->longest_node;
            } else if (lookups++ < LOOKUPS_MOST) {
                int64_t              begin = bins->begin_ns + (int64_t) (i << bins->level);
                struct ggs_lane_bins one;
                struct taking        taking = {view, &one};
                int                  status =
                    ggs_lane_bins_init(&one, bins->n_lanes, begin, begin + (1ll << bins->level), bins->level, error);
                if (status == 0) status = read_op_runs(&taking, begin, begin + (1ll << bins->level), error);
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
    const struct op_run *x = a, *y = b;
    if (x->run != y->run) return x->run < y->run ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static struct op_run * find_op_run(const struct view * view, uint64_t run, uint64_t node, uint64_t thread) {
    struct op_run key = {.run = (uint32_t) run, .node = (uint32_t) node, .thread = (uint16_t) thread};
    return view->n_rows == 0 ? NULL : bsearch(&key, view->rows, view->n_rows, sizeof(key), by_op);
}

static int add_stalls(struct view * view, bool raw, struct ggs_error * error) {
    struct ggs_stall_walk walk;
    if (ggs_reader_rows(view->request->trace.reader, GGS_TABLE_FAULTS) == 0) return 0;
    int more, status = ggs_stall_walk_open(&walk, &view->request->trace, view->window.begin, view->window.end, error);
    if (status < 0) return status;
    while ((more = ggs_stall_walk_next(&walk, error)) > 0) {
        int lane = ggs_overview_lane(view->overview, walk.slot, walk.thread);
        if (raw) {
            struct op_run * row = find_op_run(view, walk.fault.run, walk.fault.node, walk.thread);
            if (row != NULL) row->stalled += (double) walk.fault.duration_ns;
        } else if (lane >= 0) {
            ggs_lane_bins_stall(&view->folded, (uint64_t) lane, walk.fault.begin_ns, walk.fault.duration_ns);
        }
    }
    ggs_stall_walk_close(&walk);
    return more;
}

struct disk_waits {
    struct view * view;
    bool          raw;
};

static void add_disk_wait(void * context, const struct ggs_disk_wait * wait) {
    const struct disk_waits * waits = context;
    struct view *             view  = waits->view;
    int                       lane  = ggs_overview_lane(view->overview, wait->slot, wait->thread);
    if (waits->raw) {
        struct op_run * row = find_op_run(view, wait->run, wait->node, wait->thread);
        if (row != NULL) row->disk_wait += (double) wait->wait_ns;
    } else if (lane >= 0) {
        ggs_lane_bins_disk_wait(&view->folded, (uint64_t) lane, wait->begin_ns, wait->end_ns, wait->wait_ns);
    }
}

// ---- the answer ----

static int list_bins(struct view * view, struct ggs_error * error) {
    const struct ggs_lane_bins * folded = &view->folded;
    for (uint64_t i = 0; i < folded->n_lanes * folded->n; i++) {
        const struct ggs_lane_bin * bin  = &folded->bins[i];
        uint64_t                    lane = i / folded->n;
        if (bin->count == 0 && bin->busy_ns <= 0 && bin->wait_ns <= 0) continue;
        if (!ggs_array_reserve(view->bins, view->bins_capacity, view->n_bins + 1)) return ggs_fail_memory(error);
        const struct ggs_overview_run * run   = ggs_overview_find(view->overview, bin->longest_run);
        bool                            known = run != NULL && view->overview->lanes[lane].slot >= 0;
        int64_t begin = folded->begin_ns + (int64_t) ((i % folded->n) << folded->level) - view->window.begin;
        view->bins[view->n_bins++] = (struct bin){
            .begin        = (double) begin,
            .busy         = bin->busy_ns,
            .wait         = bin->wait_ns,
            .stalled      = bin->stalled_ns,
            .disk_wait    = bin->disk_wait_ns,
            .count        = (uint32_t) bin->count,
            .longest_ns   = bin->longest_ns,
            .longest_run  = (uint32_t) bin->longest_run,
            .longest_node = (uint32_t) bin->longest_node,
            .lane         = (uint16_t) lane,
            .longest_op = known ? ggs_snapshot_op(view->request->snapshot, run->graph, bin->longest_node) : UINT16_MAX};
    }
    return 0;
}

static void put_ops(const struct ggs_trace * trace, struct ggs_json * json) {
    ggs_json_array(json, "ops");
    for (uint64_t i = 0; i < trace->n_ops; i++) ggs_json_string(json, NULL, trace->op_names[i]);
    ggs_json_end(json);
}

// Where records are missing.
static int put_losses(struct view * view, struct ggs_json * json, struct ggs_error * error) {
    struct ggs_gaps gaps;
    int             status = ggs_gaps_list(&gaps, &view->request->trace, view->window.begin, view->window.end, error);
    if (status < 0) return status;
    ggs_json_array(json, "losses");
    for (uint64_t i = 0; i < gaps.n && i < 1000; i++) {
        ggs_json_object(json, NULL);
        ggs_json_u64(json, "lane", gaps.gap[i].lane);
        ggs_json_i64(json, "begin_ns", gaps.gap[i].begin_ns);
        ggs_json_i64(json, "end_ns", gaps.gap[i].end_ns);
        ggs_json_u64(json, "count", gaps.gap[i].count);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_gaps_release(&gaps);
    return 0;
}

static void add_bins(struct ggs_columns * columns, const struct bin * bins, uint64_t n) {
    ggs_columns_add(columns, "lane", GGS_COLUMNS_U16, &bins->lane, sizeof(*bins), n);
    ggs_columns_add(columns, "begin_ns", GGS_COLUMNS_F64, &bins->begin, sizeof(*bins), n);
    ggs_columns_add(columns, "busy_ns", GGS_COLUMNS_F64, &bins->busy, sizeof(*bins), n);
    ggs_columns_add(columns, "wait_ns", GGS_COLUMNS_F64, &bins->wait, sizeof(*bins), n);
    ggs_columns_add(columns, "stalled_ns", GGS_COLUMNS_F64, &bins->stalled, sizeof(*bins), n);
    ggs_columns_add(columns, "disk_wait_ns", GGS_COLUMNS_F64, &bins->disk_wait, sizeof(*bins), n);
    ggs_columns_add(columns, "count", GGS_COLUMNS_U32, &bins->count, sizeof(*bins), n);
    ggs_columns_add(columns, "longest_ns", GGS_COLUMNS_F64, &bins->longest_ns, sizeof(*bins), n);
    ggs_columns_add(columns, "longest_op", GGS_COLUMNS_U16, &bins->longest_op, sizeof(*bins), n);
    ggs_columns_add(columns, "longest_run", GGS_COLUMNS_U32, &bins->longest_run, sizeof(*bins), n);
    ggs_columns_add(columns, "longest_node", GGS_COLUMNS_U32, &bins->longest_node, sizeof(*bins), n);
}

static void add_rows(struct ggs_columns * columns, const struct op_run * rows, uint64_t n) {
    ggs_columns_add(columns, "lane", GGS_COLUMNS_U16, &rows->lane, sizeof(*rows), n);
    ggs_columns_add(columns, "run", GGS_COLUMNS_U32, &rows->run, sizeof(*rows), n);
    ggs_columns_add(columns, "node", GGS_COLUMNS_U32, &rows->node, sizeof(*rows), n);
    ggs_columns_add(columns, "op", GGS_COLUMNS_U16, &rows->op, sizeof(*rows), n);
    ggs_columns_add(columns, "layer", GGS_COLUMNS_I16, &rows->layer, sizeof(*rows), n);
    ggs_columns_add(columns, "begin_ns", GGS_COLUMNS_F64, &rows->begin, sizeof(*rows), n);
    ggs_columns_add(columns, "duration_ns", GGS_COLUMNS_F64, &rows->duration, sizeof(*rows), n);
    ggs_columns_add(columns, "wait_ns", GGS_COLUMNS_F64, &rows->wait, sizeof(*rows), n);
    ggs_columns_add(columns, "inner_wait_ns", GGS_COLUMNS_F64, &rows->inner, sizeof(*rows), n);
    ggs_columns_add(columns, "stalled_ns", GGS_COLUMNS_F64, &rows->stalled, sizeof(*rows), n);
    ggs_columns_add(columns, "disk_wait_ns", GGS_COLUMNS_F64, &rows->disk_wait, sizeof(*rows), n);
    ggs_columns_add(columns, "token", GGS_COLUMNS_I32, &rows->token, sizeof(*rows), n);
    ggs_columns_add(columns, "flags", GGS_COLUMNS_U8, &rows->flags, sizeof(*rows), n);
}

static int write_view(struct view * view, bool raw, struct ggs_error * error) {
    struct ggs_columns * columns = malloc(sizeof(*columns));
    if (columns == NULL) return ggs_fail_memory(error);
    ggs_columns_begin(columns, raw ? view->n_rows : view->n_bins, view->window.begin);
    ggs_json_i64(&columns->json, "level", raw ? -1 : (int64_t) view->level);
    ggs_json_u64(&columns->json, "bin_ns", raw ? 0 : 1ull << view->level);
    put_ops(&view->request->trace, &columns->json);
    int                        status = put_losses(view, &columns->json, error);
    static const struct op_run no_row;
    static const struct bin    no_bin;
    if (raw)
        add_rows(columns, view->n_rows == 0 ? &no_row : view->rows, view->n_rows);
    else
        add_bins(columns, view->n_bins == 0 ? &no_bin : view->bins, view->n_bins);
    if (status < 0)
        ggs_columns_discard(columns);
    else
        status = ggs_columns_end(columns, view->request->answer, error);
    free(columns);
    return status;
}

static int take_window(struct ggs_question * request, const struct ggs_overview * overview, struct window * window,
                       struct ggs_error * error) {
    const int64_t far = INT64_MAX / 4;
    *window           = (struct window){overview->begin_ns, overview->end_ns, 1000};
    int status        = ggs_query_i64(&request->query, "begin", -far, far, &window->begin, error);
    if (status == 0) status = ggs_query_i64(&request->query, "end", -far, far, &window->end, error);
    if (status == 0) status = ggs_query_u64(&request->query, "pixels", 1, PIXELS_MOST, &window->pixels, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0 && window->end <= window->begin)
        status = ggs_fail(error, GGS_USAGE, "the window must end behind its begin");
    return status;
}

static int fill(struct view * view, bool * raw, struct ggs_error * error) {
    uint64_t      level;
    struct taking taking = {view, NULL};
    int           status = choose_level(view, error);
    if (status == 0) status = read_bins(view, error);
    if (status == 0 && few_enough(view)) {
        status = read_op_runs(&taking, view->window.begin, view->window.end, error);
        *raw   = view->n_rows <= RAW_MOST;
        if (!*raw) view->n_rows = 0;
    }
    if (status == 0 && !*raw)
        status = finer_level(view, &level) ? fold_op_runs(view, level, error) : carry_ops(view, error);
    if (status == 0 && *raw && view->n_rows > 1) qsort(view->rows, view->n_rows, sizeof(*view->rows), by_op);
    if (status == 0) status = add_stalls(view, *raw, error);
    if (status == 0) {
        struct disk_waits waits = {view, *raw};
        status = ggs_disk_waits_visit(&view->request->trace, view->window.begin, view->window.end, add_disk_wait,
                                      &waits, error);
    }
    if (status == 0 && !*raw) status = list_bins(view, error);
    return status;
}

int ggs_route_timeline(struct ggs_question * request, struct ggs_error * error) {
    struct view view   = {.request = request};
    bool        raw    = false;
    int         status = ggs_snapshot_overview(request->snapshot, &view.overview, error);
    if (status == 0) status = take_window(request, view.overview, &view.window, error);
    if (status == 0) status = ggs_snapshot_ops(request->snapshot, error);
    if (status != 0) return status;
    view.in_lane = calloc(view.overview->n_lanes + 1, sizeof(*view.in_lane));
    status       = view.in_lane == NULL ? ggs_fail_memory(error) : fill(&view, &raw, error);
    if (status == 0) status = write_view(&view, raw, error);
    forget_graphs(&view);
    ggs_lane_bins_release(&view.folded);
    free(view.in_lane);
    free(view.device);
    free(view.bins);
    free(view.rows);
    return status;
}
