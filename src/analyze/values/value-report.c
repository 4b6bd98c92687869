#include "analyze/values/value-report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/values/value-ops.h"
#include "analyze/walk/op-filter.h"
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

// Thresholds of findings.
enum {
    UNLIKE_ROWS    = 8,  // least rows of an output for a median
    UNLIKE_TIMES   = 6,  // least factor between a token's rms and the median of the others
    UNLIKE_PERCENT = 10, // least share of the outputs
    CHANNEL_ROWS   = 8,
    CHANNEL_LEAST  = 32, // least elements
    CHANNEL_TIMES  = 6,  // least factor between the largest absolute value and the rms
};
static const double CHANNEL_SHARE = 0.5; // least share of rows with the same channel
static const double NEAR_F16      = GGS_F16_MOST / 4;

// The state of a report while the recording is read.
struct work {
    struct ggs_value_report *      report;
    struct ggs_trace *             trace;
    const struct ggs_value_asked * asked;
    struct ggs_run                 run;
    const struct ggs_graph *       graph; // of the run; NULL at the start
    struct ggs_map                 models;
    unsigned                       model; // of the run
    struct ggs_value_name *        names;
    uint32_t *                     makers;
    uint64_t *                     op_of; // by node: index of its op + 1, 0 for a new one
    uint8_t *                      seen;  // by node of the run: as of foul_bits; 0 if not recorded
    struct ggs_map                 ops;   // model, op and name -> index + 1
    struct ggs_map                 roots; // tensors that nodes write into -> bits as in `seen`
    struct ggs_map                 leafs; // models and names of weights and inputs -> bits as in `seen`
    struct ggs_map                 positions;
    struct ggs_op_value *          rows; // of one output
    uint64_t                       n_rows, rows_capacity;
    double *                       sorted;
    uint64_t                       sorted_capacity;
    uint64_t                       groups; // outputs with enough rows for a median
};

enum { SEEN = 1, HAS_NAN = 2, HAS_INF = 4 };

// ---- inputs ----

static struct ggs_map_key leaf_key(const struct work * w, uint64_t tensor) {
    char   key[GGS_VALUE_NAME + 16];
    size_t length = (size_t) snprintf(key, sizeof(key), "%u %.*s", w->model, GGS_VALUE_NAME,
                                      ggs_trace_tensor_name(w->trace, tensor));
    return ggs_map_key_of(key, length);
}

static unsigned bits_of_edge(const struct work * w, uint64_t edge, unsigned depth);

// The bits of a node's output. For an output that was not recorded, the bits of its inputs; for a
// view, of the first.
static unsigned bits_of_node(const struct work * w, uint64_t node, unsigned depth) {
    const struct ggs_graph * graph = w->graph;
    uint64_t                 first = graph->first_edge[node], end = graph->first_edge[node + 1];
    unsigned                 all = 0;
    if (w->seen[node] != 0) return w->seen[node];
    if (ggs_trace_op_kind(w->trace, graph->nodes[node].op) == GGS_KIND_EMPTY && end > first) end = first + 1;
    for (uint64_t e = first; depth > 0 && e < end; e++) all |= bits_of_edge(w, e, depth - 1);
    return all;
}

static unsigned bits_of_edge(const struct work * w, uint64_t edge, unsigned depth) {
    const struct ggs_tensor * t = ggs_trace_tensor(w->trace, w->graph->edges[edge].tensor);
    if (t == NULL) return 0;
    if (w->makers[edge] != 0) return bits_of_node(w, w->makers[edge] - 1, depth);
    unsigned bits = (unsigned) ggs_map_get(&w->leafs, leaf_key(w, w->graph->edges[edge].tensor));
    return bits | (unsigned) ggs_map_get(&w->roots, ggs_map_key_number(ggs_trace_root(w->trace, t)->tensor));
}

static const char * name_of_edge(const struct work * w, uint64_t edge) {
    if (w->makers[edge] != 0) return w->names[w->makers[edge] - 1].text;
    return ggs_trace_tensor_name(w->trace, w->graph->edges[edge].tensor);
}

// ---- origins ----

static bool has_foul_input(const struct work * w, uint64_t node, unsigned bit, struct ggs_value_origin * out) {
    const struct ggs_graph * graph = w->graph;
    enum { DEPTH = 12 };
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        unsigned bits = bits_of_edge(w, e, DEPTH);
        if ((bits & bit) != 0) return true;
        if (out->n_inputs == GGS_VALUE_INPUTS) continue;
        struct ggs_value_input * input = &out->inputs[out->n_inputs++];
        snprintf(input->name, sizeof(input->name), "%s", name_of_edge(w, e));
        input->seen = bits == 0 ? GGS_VALUE_UNSEEN : GGS_VALUE_CLEAN;
    }
    return false;
}

static void keep_origin(const struct ggs_value_origin * origin, struct ggs_value_origin * list, uint64_t * n) {
    if (*n < GGS_VALUE_ORIGINS) list[*n] = *origin;
    ++*n;
}

static void find_origin(struct work * w, uint64_t node, unsigned bit, struct ggs_value_origin * list, uint64_t * n) {
    struct ggs_value_origin origin = {.run     = w->run.run,
                                      .node    = node,
                                      .token   = w->run.step,
                                      .op      = ggs_trace_op_name(w->trace, w->graph->nodes[node].op),
                                      .layer   = ggs_trace_node_layer(w->trace, w->graph, node),
                                      .of_rows = w->n_rows};
    for (uint64_t i = 0; i < w->n_rows; i++) {
        const struct ggs_op_value * row   = &w->rows[i];
        uint64_t                    count = bit == HAS_NAN ? row->nan : row->inf;
        if (count == 0) continue;
        if (origin.rows++ > 0) continue;
        origin.batch_row = row->row;
        origin.position  = row->position;
        origin.count     = count;
        origin.elements  = row->elements;
    }
    if (origin.rows == 0 || has_foul_input(w, node, bit, &origin)) return;
    snprintf(origin.name, sizeof(origin.name), "%s", w->names[node].text);
    keep_origin(&origin, list, n);
}

// Adds a weight or an input of the graph. Masks contain infinities by design.
static int add_leaf(struct work * w, const struct ggs_op_value * row, struct ggs_error * error) {
    bool     weight = (row->flags & GGS_OP_VALUE_INPUT) == 0;
    unsigned bits   = SEEN | (row->nan > 0 ? HAS_NAN : 0u) | (row->inf > 0 && weight ? HAS_INF : 0u);
    uint64_t tensor = ggs_value_leaf_tensor(w->graph, row);
    if (tensor == 0)
        return ggs_fail(error, GGS_FORMAT,
                        "the trace is damaged: op_values has a weight of graph run %llu that does not exist",
                        (unsigned long long) row->run);
    uint64_t * known = ggs_map_put(&w->leafs, leaf_key(w, tensor));
    if (known == NULL) return ggs_fail_memory(error);
    unsigned fresh = bits & ~(unsigned) *known;
    w->report->weights += weight && *known == 0;
    // Rows of a weight are its experts and add up; an input is a new one in each run.
    *known = weight ? *known | bits : bits;
    if ((fresh & (HAS_NAN | HAS_INF)) == 0) return 0;
    struct ggs_value_origin origin = {.run       = row->run,
                                      .node      = row->node,
                                      .token     = w->run.step,
                                      .op        = ggs_trace_op_name(w->trace, w->graph->nodes[row->node].op),
                                      .layer     = ggs_trace_node_layer(w->trace, w->graph, row->node),
                                      .batch_row = row->row,
                                      .position  = -1,
                                      .count     = (fresh & HAS_NAN) != 0 ? row->nan : row->inf,
                                      .elements  = row->elements,
                                      .rows      = 1,
                                      .of_rows   = 1,
                                      .weight    = weight};
    snprintf(origin.leaf, sizeof(origin.leaf), "%s", ggs_trace_tensor_name(w->trace, tensor));
    snprintf(origin.name, sizeof(origin.name), "%s", w->names[row->node].text);
    if ((fresh & HAS_NAN) != 0)
        keep_origin(&origin, w->report->nan, &w->report->n_nan);
    else
        keep_origin(&origin, w->report->inf, &w->report->n_inf);
    return 0;
}

// ---- ops ----

// Integers are indices of rows and experts, so their size means nothing.
static bool is_choice(const struct ggs_trace * trace, uint64_t tensor) {
    const struct ggs_tensor * t = ggs_trace_tensor(trace, tensor);
    if (t == NULL || t->type >= trace->n_types) return false;
    const char * type = ggs_reader_string(trace->reader, trace->types[t->type].name);
    return strcmp(type, "i32") == 0 || strcmp(type, "i64") == 0;
}

static struct ggs_value_op * op_of_node(struct work * w, uint64_t node, struct ggs_error * error) {
    struct ggs_value_report * report = w->report;
    if (w->op_of[node] != 0) return &report->ops[w->op_of[node] - 1];
    struct ggs_value_op op = {.op       = ggs_trace_op_name(w->trace, w->graph->nodes[node].op),
                              .layer    = ggs_trace_node_layer(w->trace, w->graph, node),
                              .model    = w->model,
                              .min      = INFINITY,
                              .max      = -INFINITY,
                              .position = -1,
                              .choice   = is_choice(w->trace, w->graph->nodes[node].tensor)};
    memcpy(op.name, w->names[node].text, sizeof(op.name));
    char       key[GGS_VALUE_NAME + 64];
    size_t     length = (size_t) snprintf(key, sizeof(key), "%u %.40s:%s", op.model, op.op, op.name);
    uint64_t * index  = ggs_map_put(&w->ops, ggs_map_key_of(key, length));
    if (index == NULL || (*index == 0 && !ggs_array_push(report->ops, report->n_ops, report->ops_capacity, op))) {
        ggs_fail_memory(error);
        return NULL;
    }
    if (*index == 0) *index = report->n_ops;
    w->op_of[node] = *index;
    return &report->ops[*index - 1];
}

// Finds frequent indices in little memory: an index without a candidate decrements all counts, so a
// count is a lower bound (Misra and Gries).
static void count_channel(struct ggs_value_op * op, uint64_t channel) {
    enum { N = sizeof(op->candidates) / sizeof(op->candidates[0]) };
    unsigned open = N;
    for (unsigned i = 0; i < N; i++) {
        if (op->candidates[i].count == 0) open = i;
        if (op->candidates[i].count == 0 || op->candidates[i].channel != channel) continue;
        op->candidates[i].count++;
        return;
    }
    if (open < N) {
        op->candidates[open].channel = channel;
        op->candidates[open].count   = 1;
        return;
    }
    for (unsigned i = 0; i < N; i++) op->candidates[i].count--;
}

static void add_row(struct ggs_value_op * op, const struct ggs_op_value * row) {
    uint64_t finite = row->elements - row->nan - row->inf;
    op->rows++;
    op->elements = row->elements;
    op->nan += row->nan;
    op->inf += row->inf;
    if (op->run == 0) op->run = row->run, op->node = row->node;
    if (finite == 0) return;
    double largest = row->max > -row->min ? row->max : -row->min;
    if (row->min < op->min) op->min = row->min;
    if (row->max > op->max) op->max = row->max;
    if (largest > op->largest || op->n == 0)
        op->largest = largest, op->position = row->position, op->run = row->run, op->node = row->node;
    op->squares += row->rms * row->rms * (double) finite;
    op->sum += row->mean * (double) finite;
    op->n += finite;
    if (row->rms > 0) op->peaks += largest / row->rms;
    if (row->min == row->max && row->elements > 1 && row->nan + row->inf == 0) op->constant++;
    count_channel(op, row->largest);
}

static int by_value(const void * a, const void * b) {
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static int find_unlike(struct work * w, struct ggs_error * error) {
    struct ggs_value_report * report = w->report;
    uint64_t                  n      = w->n_rows;
    if (n < UNLIKE_ROWS) return 0;
    if (!ggs_array_reserve(w->sorted, w->sorted_capacity, n)) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < n; i++) w->sorted[i] = w->rows[i].rms;
    qsort(w->sorted, n, sizeof(*w->sorted), by_value);
    double median = w->sorted[n / 2];
    if (median <= 0) return 0;
    w->groups++;
    for (uint64_t i = 0; i < n; i++) {
        double times = w->rows[i].rms / median;
        if (w->rows[i].position < 0 || (times < UNLIKE_TIMES && times > 1.0 / UNLIKE_TIMES)) continue;
        uint64_t *             index = ggs_map_put(&w->positions, ggs_map_key_number((uint64_t) w->rows[i].position));
        struct ggs_value_token token = {.position = w->rows[i].position, .times = 1};
        if (index == NULL ||
            (*index == 0 && !ggs_array_push(report->unlike, report->n_unlike, report->unlike_capacity, token)))
            return ggs_fail_memory(error);
        if (*index == 0) *index = report->n_unlike;
        struct ggs_value_token * known = &report->unlike[*index - 1];
        known->ops++;
        if (times > 0 && fmax(times, 1 / times) > fmax(known->times, 1 / known->times)) known->times = times;
    }
    return 0;
}

static bool is_asked(const struct work * w, uint64_t node) {
    const struct ggs_value_asked * asked = w->asked;
    if (!ggs_op_filter_fits_node(w->trace, w->graph, node)) return false;
    if (asked == NULL) return true;
    if (asked->tensor != NULL && strstr(w->names[node].text, asked->tensor) == NULL) return false;
    return asked->layer < 0 || ggs_trace_node_layer(w->trace, w->graph, node) == asked->layer;
}

// Evaluates an output once all its rows have been read.
static int end_output(struct work * w, struct ggs_error * error) {
    if (w->n_rows == 0) return 0;
    uint64_t node   = w->rows[0].node;
    unsigned bits   = SEEN;
    int      status = 0;
    for (uint64_t i = 0; i < w->n_rows; i++)
        bits |= (w->rows[i].nan > 0 ? HAS_NAN : 0u) | (w->rows[i].inf > 0 ? HAS_INF : 0u);
    if (is_asked(w, node)) {
        struct ggs_value_op * op = op_of_node(w, node, error);
        if (op == NULL) return GGS_MEMORY;
        for (uint64_t i = 0; i < w->n_rows; i++) add_row(op, &w->rows[i]);
        w->report->rows += w->n_rows;
        if (w->n_rows > w->report->tokens) w->report->tokens = w->n_rows;
        if (bits & HAS_NAN) find_origin(w, node, HAS_NAN, w->report->nan, &w->report->n_nan);
        if (bits & HAS_INF) find_origin(w, node, HAS_INF, w->report->inf, &w->report->n_inf);
        status = op->choice ? 0 : find_unlike(w, error);
    }
    w->seen[node]                    = (uint8_t) bits;
    const struct ggs_tensor * result = ggs_trace_tensor(w->trace, w->graph->nodes[node].tensor);
    const struct ggs_tensor * root   = result == NULL ? NULL : ggs_trace_root(w->trace, result);
    if (root != NULL && root != result) {
        uint64_t * known = ggs_map_put(&w->roots, ggs_map_key_number(root->tensor));
        if (known == NULL) return ggs_fail_memory(error);
        *known |= bits;
    }
    w->n_rows = 0;
    return status;
}

// ---- runs ----

static void leave_graph(struct work * w) {
    free(w->names);
    free(w->makers);
    free(w->op_of);
    free(w->seen);
    w->names  = NULL;
    w->makers = NULL;
    w->op_of  = NULL;
    w->seen   = NULL;
}

static int begin_run(struct work * w, struct ggs_error * error) {
    uint64_t before = w->graph == NULL ? 0 : w->graph->row.graph;
    unsigned model  = w->model;
    int      status = ggs_value_model(&w->models, w->trace, &w->run, &w->model, error);
    if (status == 0) status = ggs_trace_graph(w->trace, w->run.graph, &w->graph, error);
    if (status != 0) return status;
    if (before == w->graph->row.graph && model == w->model && w->seen != NULL) {
        memset(w->seen, 0, w->graph->n_nodes);
        return 0;
    }
    leave_graph(w);
    w->names  = ggs_value_names(w->trace, w->graph);
    w->makers = ggs_value_makers(w->trace, w->graph);
    w->op_of  = calloc(w->graph->n_nodes + 1, sizeof(*w->op_of));
    w->seen   = calloc(w->graph->n_nodes + 1, 1);
    return w->names == NULL || w->makers == NULL || w->op_of == NULL || w->seen == NULL ? ggs_fail_memory(error) : 0;
}

static bool is_wanted(const struct work * w) {
    if (!ggs_trace_has_step(w->trace, w->run.step)) return false;
    return w->asked == NULL || (w->run.step >= w->asked->first_step && w->run.step <= w->asked->last_step);
}

static int add_value(struct work * w, const struct ggs_op_value * value, struct ggs_error * error) {
    int status = 0;
    if (value->node >= w->graph->n_nodes || value->nan > value->elements || value->inf > value->elements - value->nan)
        return ggs_fail(error, GGS_FORMAT, "the trace is damaged: op_values has an invalid row of graph run %llu",
                        (unsigned long long) value->run);
    if (w->n_rows > 0 && w->rows[0].node != value->node) status = end_output(w, error);
    if (status == 0 && !ggs_array_push(w->rows, w->n_rows, w->rows_capacity, *value)) status = ggs_fail_memory(error);
    return status;
}

static int walk(struct work * w, struct ggs_error * error) {
    struct ggs_cursor * values = NULL;
    struct ggs_cursor * runs   = NULL;
    struct ggs_op_value value;
    bool                wanted = false, begun = false;
    int                 more   = 1;
    int                 status = ggs_cursor_open(&values, w->trace->reader, GGS_TABLE_OP_VALUES, error);
    if (status == 0) status = ggs_cursor_open(&runs, w->trace->reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(values, &value, error)) > 0) {
        if (value.run != w->run.run) {
            status = w->graph == NULL ? 0 : end_output(w, error);
            while (status >= 0 && more > 0 && w->run.run < value.run) more = ggs_cursor_next(runs, &w->run, error);
            if (more < 0) status = more;
            wanted = w->run.run == value.run && is_wanted(w);
            w->report->runs += wanted;
            begun = false;
        }
        bool leaf = value.flags != 0 && w->run.run == value.run; // may be of a warm-up
        if (status >= 0 && (wanted || leaf) && !begun) {
            status = begin_run(w, error);
            begun  = true;
        }
        if (status >= 0 && leaf)
            status = add_leaf(w, &value, error);
        else if (status >= 0 && wanted)
            status = add_value(w, &value, error);
    }
    if (status == 0 && w->graph != NULL) status = end_output(w, error);
    ggs_cursor_close(values);
    ggs_cursor_close(runs);
    return status;
}

// ---- findings ----

static int add_to_layer(struct ggs_value_report * report, const struct ggs_value_op * op, struct ggs_error * error) {
    if (op->layer < 0 || op->n == 0 || op->choice) return 0;
    uint64_t i = 0;
    while (i < report->n_layers && (report->layers[i].layer != op->layer || report->layers[i].model != op->model)) i++;
    struct ggs_value_layer fresh = {.model = op->model, .layer = op->layer, .min = INFINITY, .max = -INFINITY};
    if (i == report->n_layers && !ggs_array_push(report->layers, report->n_layers, report->layers_capacity, fresh))
        return ggs_fail_memory(error);
    struct ggs_value_layer * layer = &report->layers[i];
    double                   most  = layer->ops == 0 ? -1 : fmax(layer->max, -layer->min);
    layer->ops++;
    if (op->largest > most) layer->largest_in = op->name;
    if (op->min < layer->min) layer->min = op->min;
    if (op->max > layer->max) layer->max = op->max;
    if (op->name[0] == '(') return 0; // a nameless op leads to one with a name
    layer->output = op->name;
    layer->rms    = op->rms;
    return 0;
}

static void finish_op(struct ggs_value_op * op) {
    op->rms       = op->n == 0 ? 0 : sqrt(op->squares / (double) op->n);
    op->mean      = op->n == 0 ? 0 : op->sum / (double) op->n;
    op->peak      = op->rows == 0 ? 0 : op->peaks / (double) op->rows;
    uint64_t most = 0;
    for (unsigned i = 0; i < sizeof(op->candidates) / sizeof(op->candidates[0]); i++)
        if (op->candidates[i].count > most) most = op->candidates[i].count, op->channel = op->candidates[i].channel;
    op->share = op->rows == 0 ? 0 : (double) most / (double) op->rows;
    if (op->n == 0) op->min = op->max = 0;
}

static int by_largest(const void * a, const void * b) {
    const struct ggs_value_op *x = *(struct ggs_value_op *const *) a, *y = *(struct ggs_value_op *const *) b;
    return (x->largest < y->largest) - (x->largest > y->largest);
}

static int by_peak(const void * a, const void * b) {
    const struct ggs_value_op *x = *(struct ggs_value_op *const *) a, *y = *(struct ggs_value_op *const *) b;
    return (x->peak < y->peak) - (x->peak > y->peak);
}

static int by_layer(const void * a, const void * b) {
    const struct ggs_value_layer *x = a, *y = b;
    if (x->model != y->model) return x->model > y->model ? 1 : -1;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

static int by_ops(const void * a, const void * b) {
    const struct ggs_value_token *x = a, *y = b;
    if (x->ops != y->ops) return x->ops < y->ops ? 1 : -1;
    return (x->position > y->position) - (x->position < y->position);
}

#define LIST(list, condition) \
    ((condition) && !ggs_array_push(report->list, report->n_##list, report->list##_capacity, op))

static int find(struct work * w, struct ggs_error * error) {
    struct ggs_value_report * report = w->report;
    int                       status = 0;
    for (uint64_t i = 0; status == 0 && i < report->n_ops; i++) {
        struct ggs_value_op * op = &report->ops[i];
        finish_op(op);
        if (op->choice) continue;
        bool channel = op->rows >= CHANNEL_ROWS && op->elements >= CHANNEL_LEAST && op->share >= CHANNEL_SHARE &&
                       op->peak >= CHANNEL_TIMES;
        if (LIST(near_f16, op->largest >= NEAR_F16) || LIST(constants, op->constant == op->rows) ||
            LIST(channels, channel))
            return ggs_fail_memory(error);
        status = add_to_layer(report, op, error);
    }
    if (report->n_near_f16 > 1) qsort(report->near_f16, report->n_near_f16, sizeof(*report->near_f16), by_largest);
    if (report->n_channels > 1) qsort(report->channels, report->n_channels, sizeof(*report->channels), by_peak);
    if (report->n_layers > 1) qsort(report->layers, report->n_layers, sizeof(*report->layers), by_layer);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < report->n_unlike; i++) {
        report->unlike[i].of_ops = w->groups;
        if (report->unlike[i].ops * 100 >= w->groups * UNLIKE_PERCENT) report->unlike[kept++] = report->unlike[i];
    }
    report->n_unlike = kept;
    if (kept > 1) qsort(report->unlike, kept, sizeof(*report->unlike), by_ops);
    return status;
}

static int check_asked(struct ggs_trace * trace, const struct ggs_value_asked * asked, struct ggs_error * error) {
    if (ggs_reader_rows(trace->reader, GGS_TABLE_OP_VALUES) == 0)
        return ggs_fail(error, GGS_ABSENT,
                        "no values were recorded: record again with --values, or with a REGEX that some OP:tensor "
                        "matches, such as --values=ffn_out");
    if (asked == NULL) return 0;
    int status = ggs_trace_check_steps(trace, asked->first_step, asked->last_step, error);
    return status == 0 ? ggs_trace_check_layer(trace, asked->layer, error) : status;
}

int ggs_value_report_compute(struct ggs_value_report * report, struct ggs_trace * trace,
                             const struct ggs_value_asked * asked, struct ggs_error * error) {
    struct work w = {.report = report, .trace = trace, .asked = asked};
    *report       = (struct ggs_value_report){0};
    int status    = check_asked(trace, asked, error);
    if (status == 0) status = walk(&w, error);
    if (status == 0) status = find(&w, error);
    if (status == 0) status = ggs_trace_lost(trace, 0, &report->lost, error);
    if (status == 0) status = ggs_trace_lost(trace, GGS_LOSS_WEIGHTS, &report->lost_weights, error);
    if (status == 0 && report->n_ops == 0)
        status =
            ggs_fail(error, GGS_ABSENT, "no values of these ops were recorded; ggscope values lists those that were");
    leave_graph(&w);
    ggs_map_release(&w.models);
    ggs_map_release(&w.ops);
    ggs_map_release(&w.roots);
    ggs_map_release(&w.leafs);
    ggs_map_release(&w.positions);
    free(w.rows);
    free(w.sorted);
    return status;
}

void ggs_value_report_release(struct ggs_value_report * report) {
    free(report->ops);
    free(report->layers);
    free(report->near_f16);
    free(report->constants);
    free(report->channels);
    free(report->unlike);
    *report = (struct ggs_value_report){0};
}
