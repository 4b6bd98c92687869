// /api/x/N/timeline: what the lanes did in a window of time. Op runs one by one where they are few enough, else folded into the bins of a level
// of detail. How many there are is told by the levels themselves, so a wide window never touches the op runs.
#include <stdlib.h>
#include <string.h>

#include "analyze/ops/gaps.h"
#include "base/error.h"
#include "serve/routes/columns.h"
#include "serve/routes/routes.h"

enum { PIXELS_MOST = 4096, RAW_MOST = 50000 };

struct window {
    int64_t  begin, end;
    uint64_t pixels;
};

struct bin {
    double   begin, busy, wait, longest_ns;
    uint32_t count, longest_run, longest_node;
    uint16_t lane, longest_op;
};

struct op_run {
    double   begin, duration, wait, inner; // wait: after the op; inner: inside it
    uint32_t run, node;
    int32_t  token;
    uint16_t lane, op;
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
    uint64_t                    op_runs; // all of them
    struct bin *                bins;
    uint64_t                    n_bins, bins_capacity;
    struct op_run *             rows;
    uint64_t                    n_rows, rows_capacity;
    struct known                known[KNOWN_MOST];
    unsigned                    n_known;
};

static bool grow(void ** array, uint64_t n, uint64_t * capacity, size_t size) {
    if (n < *capacity) return true;
    uint64_t bigger = *capacity == 0 ? 1024 : 2 * *capacity;
    void *   moved  = realloc(*array, bigger * size);
    if (moved == NULL) return false;
    *array    = moved;
    *capacity = bigger;
    return true;
}

// ---- bins ----

// The finest level whose bins are not narrower than a pixel.
static int choose_level(struct view * view, struct ggs_error * error) {
    uint64_t levels[64];
    unsigned n;
    int      status = ggs_snapshot_levels(view->request->snapshot, levels, &n, error);
    if (status < 0) return status;
    uint64_t pixel = (uint64_t) (view->window.end - view->window.begin) / view->window.pixels;
    view->level    = n == 0 ? 0 : levels[n - 1];
    for (unsigned i = n; i-- > 0 && 1ull << levels[i] >= pixel;) view->level = levels[i];
    return 0;
}

static int add_bin(struct view * view, const struct ggs_lod * row, struct ggs_error * error) {
    int lane = ggs_overview_lane(view->overview, row->slot, row->thread);
    if (lane < 0) return 0;
    if (!grow((void **) &view->bins, view->n_bins, &view->bins_capacity, sizeof(*view->bins)))
        return ggs_fail_memory(error);
    const struct ggs_overview_run * run = ggs_overview_find(view->overview, row->longest_run);
    uint16_t                        op  = run == NULL || row->slot < 0
                                              ? UINT16_MAX
                                              : ggs_snapshot_op(view->request->snapshot, run->graph, row->longest_node);
    view->bins[view->n_bins++]          = (struct bin){.begin        = (double) (row->begin_ns - view->window.begin),
                                                       .busy         = (double) row->busy_ns,
                                                       .wait         = (double) row->wait_ns,
                                                       .count        = (uint32_t) row->count,
                                                       .longest_ns   = (double) row->longest_ns,
                                                       .longest_run  = (uint32_t) row->longest_run,
                                                       .longest_node = (uint32_t) row->longest_node,
                                                       .lane         = (uint16_t) lane,
                                                       .longest_op   = op};
    view->in_lane[lane] += row->count;
    view->op_runs += row->count;
    return 0;
}

static int read_bins(struct view * view, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_lod      row;
    int                 status = ggs_cursor_open(&cursor, view->request->trace.reader, GGS_TABLE_LOD, error);
    if (status < 0) return status;
    // Times of rows are those of their begins: what began a bin before reaches into the window.
    int64_t begin = view->window.begin - (1ll << view->level);
    ggs_cursor_keys(cursor, (int64_t) view->level, (int64_t) view->level);
    ggs_cursor_times(cursor, begin, view->window.end);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        if (row.begin_ns > begin) status = add_bin(view, &row, error);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int by_lane(const void * a, const void * b) {
    const struct bin *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

// ---- op runs ----

static bool few_enough(const struct view * view) {
    if (view->op_runs > RAW_MOST) return false;
    for (uint64_t i = 0; i < view->overview->n_lanes; i++) {
        if (view->in_lane[i] > 2 * view->window.pixels) return false;
    }
    return true;
}

static int add_whole(struct view * view, const struct ggs_run * run, struct ggs_error * error) {
    int lane = ggs_overview_lane(view->overview, -1, 0);
    if (lane < 0) return 0;
    if (!grow((void **) &view->rows, view->n_rows, &view->rows_capacity, sizeof(*view->rows)))
        return ggs_fail_memory(error);
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
    if (!grow((void **) &view->rows, view->n_rows, &view->rows_capacity, sizeof(*view->rows)))
        return ggs_fail_memory(error);
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
                                                 .op       = op < UINT16_MAX ? (uint16_t) op : UINT16_MAX,
                                                 .layer    = known->layers[row->node],
                                                 .flags    = (uint8_t) ((row->flags & GGS_OP_RUN_ENDED ? 0 : 1) |
                                                                     (row->flags & GGS_OP_RUN_FUSED ? 2 : 0) |
                                                                     (row->flags & GGS_OP_RUN_EXTRA ? 4 : 0))};
    return 0;
}

static int read_run(struct view * view, struct ggs_cursor * op_runs, const struct ggs_run * run,
                    struct ggs_error * error) {
    const struct known * known;
    struct ggs_op_run    row;
    if ((run->flags & GGS_RUN_OPAQUE) != 0) return add_whole(view, run, error);
    if (run->op_runs == 0) return 0;
    int status = find_graph(view, run->graph, &known, error);
    if (status < 0) return status;
    ggs_cursor_range(op_runs, run->first_op_run, run->op_runs);
    while (status >= 0 && view->n_rows <= RAW_MOST && (status = ggs_cursor_next(op_runs, &row, error)) > 0) {
        if (row.run == run->run) status = add_op_run(view, run, known, &row, error);
    }
    return status;
}

// The op runs in the window, found through the graph runs that touch it.
static int read_op_runs(struct view * view, struct ggs_error * error) {
    struct ggs_reader * reader = view->request->trace.reader;
    struct ggs_cursor * runs = NULL, *op_runs = NULL;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&runs, reader, GGS_TABLE_RUNS, error);
    if (status == 0) status = ggs_cursor_open(&op_runs, reader, GGS_TABLE_OP_RUNS, error);
    if (status == 0) {
        ggs_cursor_times(runs, view->window.begin, view->window.end);
        ggs_cursor_times(op_runs, view->window.begin, view->window.end);
    }
    while (status >= 0 && view->n_rows <= RAW_MOST && (status = ggs_cursor_next(runs, &run, error)) > 0)
        status = read_run(view, op_runs, &run, error);
    ggs_cursor_close(runs);
    ggs_cursor_close(op_runs);
    return status < 0 ? status : 0;
}

// ---- the answer ----

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
    ggs_columns_add(columns, "lane", GGS_CELL_U16, &bins->lane, sizeof(*bins), n);
    ggs_columns_add(columns, "begin_ns", GGS_CELL_F64, &bins->begin, sizeof(*bins), n);
    ggs_columns_add(columns, "busy_ns", GGS_CELL_F64, &bins->busy, sizeof(*bins), n);
    ggs_columns_add(columns, "wait_ns", GGS_CELL_F64, &bins->wait, sizeof(*bins), n);
    ggs_columns_add(columns, "count", GGS_CELL_U32, &bins->count, sizeof(*bins), n);
    ggs_columns_add(columns, "longest_ns", GGS_CELL_F64, &bins->longest_ns, sizeof(*bins), n);
    ggs_columns_add(columns, "longest_op", GGS_CELL_U16, &bins->longest_op, sizeof(*bins), n);
    ggs_columns_add(columns, "longest_run", GGS_CELL_U32, &bins->longest_run, sizeof(*bins), n);
    ggs_columns_add(columns, "longest_node", GGS_CELL_U32, &bins->longest_node, sizeof(*bins), n);
}

static void add_rows(struct ggs_columns * columns, const struct op_run * rows, uint64_t n) {
    ggs_columns_add(columns, "lane", GGS_CELL_U16, &rows->lane, sizeof(*rows), n);
    ggs_columns_add(columns, "run", GGS_CELL_U32, &rows->run, sizeof(*rows), n);
    ggs_columns_add(columns, "node", GGS_CELL_U32, &rows->node, sizeof(*rows), n);
    ggs_columns_add(columns, "op", GGS_CELL_U16, &rows->op, sizeof(*rows), n);
    ggs_columns_add(columns, "layer", GGS_CELL_I16, &rows->layer, sizeof(*rows), n);
    ggs_columns_add(columns, "begin_ns", GGS_CELL_F64, &rows->begin, sizeof(*rows), n);
    ggs_columns_add(columns, "duration_ns", GGS_CELL_F64, &rows->duration, sizeof(*rows), n);
    ggs_columns_add(columns, "wait_ns", GGS_CELL_F64, &rows->wait, sizeof(*rows), n);
    ggs_columns_add(columns, "inner_wait_ns", GGS_CELL_F64, &rows->inner, sizeof(*rows), n);
    ggs_columns_add(columns, "token", GGS_CELL_I32, &rows->token, sizeof(*rows), n);
    ggs_columns_add(columns, "flags", GGS_CELL_U8, &rows->flags, sizeof(*rows), n);
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

int ggs_route_timeline(struct ggs_question * request, struct ggs_error * error) {
    struct view view   = {.request = request};
    bool        raw    = false;
    int         status = ggs_snapshot_overview(request->snapshot, &view.overview, error);
    if (status == 0) status = take_window(request, view.overview, &view.window, error);
    if (status == 0) status = ggs_snapshot_ops(request->snapshot, error);
    if (status != 0) return status;
    view.in_lane = calloc(view.overview->n_lanes + 1, sizeof(*view.in_lane));
    if (view.in_lane == NULL) status = ggs_fail_memory(error);
    if (status == 0) status = choose_level(&view, error);
    if (status == 0) status = read_bins(&view, error);
    if (status == 0 && few_enough(&view)) {
        status = read_op_runs(&view, error);
        raw    = view.n_rows <= RAW_MOST;
    }
    if (view.n_bins > 1) qsort(view.bins, view.n_bins, sizeof(*view.bins), by_lane);
    if (status == 0) status = write_view(&view, raw, error);
    forget_graphs(&view);
    free(view.in_lane);
    free(view.bins);
    free(view.rows);
    return status;
}
