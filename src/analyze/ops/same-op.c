#include "analyze/ops/same-op.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/op-filter.h"
#include "analyze/walk/walk.h"
#include "base/array.h"
#include "base/error.h"

// The common properties of the ops.
struct wanted {
    uint64_t     op, phase;
    const char * name;
    int          layer;
    uint64_t     before; // nodes of this type and name before it in the graph
};

static bool is_like(const struct wanted * wanted, struct ggs_trace * trace, const struct ggs_node * node) {
    return node->op == wanted->op && strcmp(ggs_trace_tensor_name(trace, node->tensor), wanted->name) == 0;
}

// The node of a graph that is the same; UINT64_MAX if there is none.
static uint64_t find_node(const struct wanted * wanted, struct ggs_trace * trace, const struct ggs_graph * graph) {
    uint64_t before = 0;
    for (uint64_t i = 0; i < graph->n_nodes; i++)
        if (is_like(wanted, trace, &graph->nodes[i]) && before++ == wanted->before) return i;
    return UINT64_MAX;
}

static int find_wanted(struct wanted * wanted, struct ggs_trace * trace, uint64_t run, uint64_t node,
                       struct ggs_error * error) {
    struct ggs_walk * walk;
    bool              found  = false;
    int               status = ggs_walk_open_runs(&walk, trace, run, run, error);
    if (status < 0) return status;
    status = ggs_walk_run(walk, error);
    while (status > 0 && !found && ggs_walk_op(walk)) {
        if (walk->op.node != node) continue;
        *wanted = (struct wanted){walk->op.op, walk->run.phase,
                                  ggs_trace_tensor_name(trace, walk->graph->nodes[node].tensor), walk->op.layer, 0};
        for (uint64_t i = 0; i < node; i++) wanted->before += is_like(wanted, trace, &walk->graph->nodes[i]);
        found = true;
    }
    ggs_walk_close(walk);
    if (status < 0 || found) return status < 0 ? status : 0;
    return ggs_fail(error, GGS_ABSENT, "the time of node %" PRIu64 " of graph run %" PRIu64 " was not seen", node, run);
}

static int gather(struct ggs_same_ops * same, struct ggs_trace * trace, const struct wanted * wanted,
                  struct ggs_error * error) {
    struct ggs_op_filter filter = GGS_OP_FILTER_ALL;
    struct ggs_trace     some   = ggs_trace_borrow(trace);
    struct ggs_walk *    walk;
    uint64_t             graph = UINT64_MAX, node = UINT64_MAX;
    filter.layer = wanted->layer;
    filter.op    = ggs_trace_op_name(trace, wanted->op);
    some.filter  = &filter;
    int status   = ggs_walk_open(&walk, &some, INT64_MIN, INT64_MAX, error);
    if (status >= 0) walk->sums_only = true;
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        if (walk->graph == NULL || walk->run.phase != wanted->phase) continue;
        if (walk->run.graph != graph) graph = walk->run.graph, node = find_node(wanted, trace, walk->graph);
        while (status > 0 && ggs_walk_op(walk)) {
            const struct ggs_op_seen * op = &walk->op;
            struct ggs_same_op row = {walk->run.step, walk->run.run, op->node, op->begin_ns, op->wall_ns, op->wait_ns};
            if (op->node != node) continue;
            if (!ggs_array_push(same->rows, same->n, same->capacity, row)) status = ggs_fail_memory(error);
        }
    }
    ggs_walk_close(walk);
    ggs_trace_return(&some);
    return status;
}

static int by_wall(const void * a, const void * b) {
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static int measure(struct ggs_same_ops * same, struct ggs_error * error) {
    uint64_t * all = malloc((same->n + 1) * sizeof(*all));
    if (all == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < same->n; i++) all[i] = same->rows[i].wall_ns;
    qsort(all, same->n, sizeof(*all), by_wall);
    if (same->n > 0) same->least_ns = all[0], same->median_ns = all[same->n / 2], same->most_ns = all[same->n - 1];
    free(all);
    return 0;
}

// The slowest of every few ops stands for all, unless one of them is the requested op.
static void fold(struct ggs_same_ops * same, uint64_t run, uint64_t node) {
    uint64_t each = (same->n + GGS_SAME_OPS_MOST - 1) / GGS_SAME_OPS_MOST, kept = 0;
    same->ops         = same->n;
    same->ops_per_row = each == 0 ? 1 : each;
    for (uint64_t first = 0; first < same->n; first += same->ops_per_row) {
        struct ggs_same_op best = same->rows[first];
        for (uint64_t i = first; i < same->n && i < first + same->ops_per_row; i++) {
            const struct ggs_same_op * row    = &same->rows[i];
            bool                       chosen = best.run == run && best.node == node;
            if (!chosen && (row->wall_ns > best.wall_ns || (row->run == run && row->node == node))) best = *row;
        }
        same->rows[kept++] = best;
    }
    same->n = kept;
}

int ggs_same_ops_find(struct ggs_same_ops * same, struct ggs_trace * trace, uint64_t run, uint64_t node,
                      struct ggs_error * error) {
    struct wanted wanted = {0};
    *same                = (struct ggs_same_ops){0};
    int status           = find_wanted(&wanted, trace, run, node, error);
    if (status == 0) status = gather(same, trace, &wanted, error);
    if (status == 0) status = measure(same, error);
    if (status < 0) {
        ggs_same_ops_release(same);
        return status;
    }
    fold(same, run, node);
    return 0;
}

void ggs_same_ops_release(struct ggs_same_ops * same) {
    free(same->rows);
    *same = (struct ggs_same_ops){0};
}
