#include "analyze/ops/roofline.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/ops/groups.h"
#include "analyze/walk/per-node.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

// ---- floating point operations ----

// Shapes are untrusted: a product that overflows is unknown.
static int64_t product(const int64_t * factors, unsigned n) {
    int64_t all = 1;
    for (unsigned i = 0; i < n; i++)
        if (factors[i] < 0 || __builtin_mul_overflow(all, factors[i], &all)) return -1;
    return all;
}

// Floating point operations of a node: two per multiply-add of matrix products and attention; -1
// for other ops.
static int64_t flops_of(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node) {
    const struct ggs_tensor * result = ggs_trace_tensor(trace, graph->nodes[node].tensor);
    const struct ggs_tensor * first  = ggs_trace_tensor(trace, ggs_trace_source(graph, node, 0));
    const struct ggs_tensor * second = ggs_trace_tensor(trace, ggs_trace_source(graph, node, 1));
    const char *              op     = ggs_trace_op_name(trace, graph->nodes[node].op);
    if (result == NULL || first == NULL || second == NULL) return -1;
    const int64_t *r = result->ne, *a = first->ne, *b = second->ne;
    if (strcmp(op, "MUL_MAT") == 0 || strcmp(op, "MUL_MAT_ID") == 0)
        return product((int64_t[]){2, a[0], r[0], r[1], r[2], r[3]}, 6);
    if (strcmp(op, "OUT_PROD") == 0) return product((int64_t[]){2, a[1], r[0], r[1], r[2], r[3]}, 6);
    // Queries times keys, and their weights times values: heads x tokens x cells, times the length
    // of a key and a value.
    if (strcmp(op, "FLASH_ATTN_EXT") == 0)
        return product((int64_t[]){2, a[1], a[2], a[3], b[1], a[0] < INT64_MAX - r[0] ? a[0] + r[0] : -1}, 6);
    return -1;
}

// ---- attention ----

static bool is_op(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node, const char * name) {
    return strcmp(ggs_trace_op_name(trace, graph->nodes[node].op), name) == 0;
}

// True if a tensor is another one, or a view of it.
static bool shows(const struct ggs_trace * trace, uint64_t tensor, uint64_t other) {
    for (unsigned depth = 0; tensor != 0 && depth < 8; depth++) {
        const struct ggs_tensor * t = ggs_trace_tensor(trace, tensor);
        if (tensor == other || t == NULL) return tensor == other;
        tensor = t->view;
    }
    return false;
}

static bool reads(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node, uint64_t tensor) {
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++)
        if (shows(trace, graph->edges[e].tensor, tensor)) return true;
    return false;
}

// Queries times keys: its result, scaled, capped or masked, goes into a softmax. Keys are a view of
// the memory; a router's weights, whose product goes there too, are a tensor of their own.
static bool makes_scores(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node) {
    enum { FURTHEST = 16 };
    const struct ggs_tensor * keys   = ggs_trace_tensor(trace, ggs_trace_source(graph, node, 0));
    uint64_t                  scores = graph->nodes[node].tensor;
    if (keys == NULL || keys->view == 0) return false;
    for (uint64_t k = node + 1; k < graph->n_nodes && k <= node + FURTHEST; k++) {
        if (!reads(trace, graph, k, scores)) continue;
        if (is_op(trace, graph, k, "SOFT_MAX")) return true;
        if (is_op(trace, graph, k, "MUL_MAT")) return false;
        scores = graph->nodes[k].tensor;
    }
    return false;
}

// Values times a softmax's result.
static bool weighs_values(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node) {
    enum { FURTHEST = 64 };
    for (uint64_t k = node; k-- > 0 && node - k <= FURTHEST;)
        if (is_op(trace, graph, k, "SOFT_MAX") && reads(trace, graph, node, graph->nodes[k].tensor)) return true;
    return false;
}

// By the graph: where weights come from may be unknown.
static bool is_attention(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node) {
    if (is_op(trace, graph, node, "FLASH_ATTN_EXT") || is_op(trace, graph, node, "SOFT_MAX")) return true;
    return is_op(trace, graph, node, "MUL_MAT") &&
           (makes_scores(trace, graph, node) || weighs_values(trace, graph, node));
}

// ---- rows ----

struct known { // constant for a node in every run of its graph
    struct ggs_node_known   node;
    struct ggs_access_bytes bytes;
    int64_t                 flops;
    bool                    attention;
    uint32_t                row[2][8]; // number + 1, by place of computation and phase
    const char *            component;
};

struct pass {
    struct ggs_roofline * roofline;
    struct ggs_walk *     walk;
    struct ggs_per_node   nodes; // struct known
};

// Lives as long as the rows; NULL if out of memory.
static const char * component_of(struct pass * pass, const struct ggs_access_list * list) {
    char         buffer[128];
    const char * text   = ggs_groups_component(pass->walk->trace, ggs_groups_weight(list), buffer, sizeof(buffer));
    uint32_t     number = ggs_names_number(pass->roofline->names, text, strlen(text));
    return number == UINT32_MAX ? NULL : ggs_names_text(pass->roofline->names, number);
}

static int know_node(struct pass * pass, struct known * known, struct ggs_error * error) {
    struct ggs_walk *              walk = pass->walk;
    const struct ggs_access_list * list;
    if (ggs_node_is_known(&known->node, walk)) return 0;
    int status = ggs_node_learn(&known->node, walk, &list, error);
    if (status < 0) return status;
    known->bytes     = ggs_access_sum(list);
    known->flops     = flops_of(walk->trace, walk->graph, walk->op.node);
    known->attention = is_attention(walk->trace, walk->graph, walk->op.node);
    if (known->component == NULL) known->component = component_of(pass, list);
    return known->component == NULL ? ggs_fail_memory(error) : 0;
}

static struct ggs_roofline_row * row_of(struct pass * pass, struct known * known) {
    struct ggs_roofline *      roofline = pass->roofline;
    const struct ggs_op_seen * op       = &pass->walk->op;
    uint64_t                   phase    = pass->walk->run.phase;
    bool                       device   = ggs_trace_is_device(pass->walk->trace, pass->walk->run.device);
    uint32_t *                 number   = phase < 8 ? &known->row[device][phase] : NULL;
    if (number != NULL && *number != 0) return &roofline->row[*number - 1];
    uint64_t i = 0;
    while (i < roofline->n &&
           (roofline->row[i].phase != phase || roofline->row[i].on_device != device ||
            strcmp(roofline->row[i].op, op->name) != 0 || strcmp(roofline->row[i].component, known->component) != 0))
        i++;
    struct ggs_roofline_row fresh = {.phase     = phase,
                                     .op        = op->name,
                                     .component = known->component,
                                     .on_device = device,
                                     .flops     = known->flops < 0 ? -1 : 0};
    if (i == roofline->n && !ggs_array_push(roofline->row, roofline->n, roofline->capacity, fresh)) return NULL;
    if (number != NULL) *number = (uint32_t) i + 1;
    return &roofline->row[i];
}

// The last thread to arrive waits for no other: its wait is the cost of the barrier, which the
// others pay too. The rest of their waits is imbalance.
static void add_threads(struct ggs_roofline_row * row, const struct ggs_op_seen * op) {
    uint64_t least = UINT64_MAX, wait = 0, busy = 0;
    for (uint64_t i = 0; i < op->n_op_runs; i++) {
        const struct ggs_op_run * one = &op->op_runs[i];
        if (one->wait_ns < least) least = one->wait_ns;
        wait += one->wait_ns;
        busy += ggs_op_run_busy(one);
    }
    uint64_t meeting = least * op->n_op_runs;
    if (meeting > wait) meeting = wait;
    row->shared++;
    row->shared_ns += busy;
    row->barrier_ns += meeting;
    row->uneven_ns += wait - meeting;
}

static unsigned bin_of(uint64_t ns) {
    unsigned bin = ns == 0 ? 0 : 63 - (unsigned) __builtin_clzll(ns);
    return bin < GGS_ROOFLINE_BINS ? bin : GGS_ROOFLINE_BINS - 1;
}

static int add_op(struct pass * pass, struct ggs_error * error) {
    const struct ggs_op_seen * op     = &pass->walk->op;
    struct known *             known  = ggs_per_node(&pass->nodes, pass->walk, sizeof(*known));
    int                        status = known == NULL ? ggs_fail_memory(error) : know_node(pass, known, error);
    struct ggs_roofline_row *  row    = status < 0 ? NULL : row_of(pass, known);
    if (status < 0) return status;
    if (row == NULL) return ggs_fail_memory(error);
    row->ops++;
    row->op_runs += op->n_op_runs;
    row->wall_ns += op->wall_ns;
    row->busy_ns += op->busy_ns;
    row->read += known->bytes.read;
    row->written += known->bytes.written;
    if (known->attention) row->attention_ns += op->wall_ns, row->attention_read += known->bytes.read;
    if (row->flops >= 0 && (known->flops < 0 || __builtin_add_overflow(row->flops, known->flops, &row->flops)))
        row->flops = -1;
    row->bins[bin_of(op->wall_ns)]++;
    bool waits = (pass->walk->run.flags & GGS_RUN_NO_WAITS) == 0;
    if (op->n_op_runs > 1 && waits && !op->cut && !row->on_device) add_threads(row, op);
    return 0;
}

static int by_wall(const void * a, const void * b) {
    const struct ggs_roofline_row *x = a, *y = b;
    if (x->wall_ns != y->wall_ns) return x->wall_ns > y->wall_ns ? -1 : 1;
    int order = strcmp(x->op, y->op);
    return order != 0 ? order : strcmp(x->component, y->component);
}

int ggs_roofline_compute(struct ggs_roofline * roofline, struct ggs_trace * trace,
                         const struct ggs_totals_range * range, struct ggs_error * error) {
    struct pass pass = {.roofline = roofline};
    *roofline        = (struct ggs_roofline){.names = ggs_names_new()};
    int status       = roofline->names == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) status = ggs_trace_check_steps(trace, range->first_step, range->last_step, error);
    if (status == 0) status = ggs_walk_open(&pass.walk, trace, range->first_step, range->last_step, error);
    while (status >= 0 && pass.walk != NULL && (status = ggs_walk_run(pass.walk, error)) > 0) {
        while (status >= 0 && ggs_walk_op(pass.walk)) {
            status = add_op(&pass, error);
        }
    }
    ggs_walk_close(pass.walk);
    free(pass.nodes.memory);
    if (status < 0) {
        ggs_roofline_release(roofline);
        return status;
    }
    if (roofline->n > 0) qsort(roofline->row, roofline->n, sizeof(*roofline->row), by_wall);
    return 0;
}

void ggs_roofline_release(struct ggs_roofline * roofline) {
    free(roofline->row);
    ggs_names_free(roofline->names);
    *roofline = (struct ggs_roofline){0};
}
