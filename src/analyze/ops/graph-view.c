#include "analyze/ops/graph-view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/walk.h"
#include "base/array.h"
#include "base/error.h"

enum { DEPTH = 16 }; // of views of views; a damaged trace may have a cycle
enum { COMPUTE_FLAG = 16 };

const char * ggs_node_state_name(uint64_t state) {
    static const char * const names[GGS_NODE_STATES] = {
        [GGS_NODE_EXECUTED] = "executed", [GGS_NODE_ABSORBED] = "absorbed", [GGS_NODE_EMPTY] = "empty",
        [GGS_NODE_SKIPPED] = "skipped",   [GGS_NODE_OPAQUE] = "opaque",     [GGS_NODE_UNSEEN] = "unseen"};
    return state < GGS_NODE_STATES ? names[state] : NULL;
}

static bool is_empty(const struct ggs_graph_view * view, uint64_t node) {
    return ggs_trace_op_kind(&view->trace, view->graph->nodes[node].op) == GGS_KIND_EMPTY;
}

// ---- producers ----

// Returns the last node so far that computed the tensor or its view source; + 1, 0 for none.
static uint32_t producer_of(const struct ggs_trace * trace, const uint32_t * last, uint64_t tensor) {
    for (int depth = 0; depth < DEPTH && tensor > 0 && tensor <= trace->n_tensors; depth++) {
        if (last[tensor - 1] != 0) return last[tensor - 1];
        tensor = trace->tensors[tensor - 1].view;
    }
    return 0;
}

static void add_leaf(struct ggs_graph_view * view, uint64_t tensor) {
    if (tensor == 0 || tensor > view->trace.n_tensors || view->leaf_of[tensor - 1] != 0) return;
    view->leaves[view->n_leaves++] = tensor;
    view->leaf_of[tensor - 1]      = (uint32_t) view->n_leaves;
}

// Goes in the order of the nodes, because two of them may compute the same tensor one after the
// other (a reused name, address and shape): a node reads the result of the last one before it.
static void sweep(struct ggs_graph_view * view, uint32_t * last) {
    const struct ggs_graph * graph = view->graph;
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        uint64_t first = graph->first_edge[i], tensor = graph->nodes[i].tensor;
        for (uint64_t e = first; e < graph->first_edge[i + 1]; e++) {
            view->from[e] = producer_of(&view->trace, last, graph->edges[e].tensor);
            if (view->from[e] == 0) add_leaf(view, graph->edges[e].tensor);
        }
        view->real[i] = (uint32_t) i + 1;
        if (is_empty(view, i)) {
            uint32_t source = first < graph->first_edge[i + 1] ? view->from[first] : 0;
            view->real[i]   = source == 0 ? 0 : view->real[source - 1];
        }
        if (tensor > 0 && tensor <= view->trace.n_tensors) last[tensor - 1] = (uint32_t) i + 1;
    }
}

static unsigned add(uint32_t nodes[GGS_NEIGHBOURS_MOST], unsigned n, uint32_t node) {
    for (unsigned i = 0; i < n; i++) {
        if (nodes[i] == node) return n;
    }
    if (n < GGS_NEIGHBOURS_MOST) nodes[n++] = node;
    return n;
}

// Returns node + 1 that computes an edge's contents; 0 for outside.
static uint32_t real_source(const struct ggs_graph_view * view, uint64_t edge) {
    return view->from[edge] == 0 ? 0 : view->real[view->from[edge] - 1];
}

unsigned ggs_graph_view_producers(const struct ggs_graph_view * view, uint64_t node,
                                  uint32_t nodes[GGS_NEIGHBOURS_MOST]) {
    unsigned n = 0;
    for (uint64_t e = view->graph->first_edge[node]; e < view->graph->first_edge[node + 1]; e++) {
        uint32_t source = real_source(view, e);
        if (source != 0) n = add(nodes, n, source - 1);
    }
    return n;
}

unsigned ggs_graph_view_consumers(const struct ggs_graph_view * view, uint64_t node,
                                  uint32_t nodes[GGS_NEIGHBOURS_MOST]) {
    const struct ggs_graph * graph = view->graph;
    unsigned                 n     = 0;
    for (uint64_t e = graph->first_edge[node + 1]; e < graph->n_edges; e++) {
        if (real_source(view, e) != node + 1 || is_empty(view, graph->edges[e].node)) continue;
        n = add(nodes, n, (uint32_t) graph->edges[e].node);
    }
    return n;
}

// ---- nodes ----

// The layer of a node. A node with a generated name takes that of its sources, but never goes back:
// rows that the last layer selects from the previous layer's result belong to the last layer.
static int layer_at(const struct ggs_graph_view * view, uint64_t node) {
    const struct ggs_tensor * result = ggs_trace_tensor(&view->trace, view->graph->nodes[node].tensor);
    const char *              name   = result == NULL ? "" : ggs_reader_string(view->trace.reader, result->name);
    int                       layer  = ggs_trace_node_layer(&view->trace, view->graph, node);
    int                       before = node == 0 ? -1 : view->nodes[node - 1].layer;
    return layer < before && strncmp(name, "node_", 5) == 0 ? before : layer;
}

static enum ggs_node_state state_before(const struct ggs_graph_view * view, uint64_t node) {
    const struct ggs_tensor * tensor = ggs_trace_tensor(&view->trace, view->graph->nodes[node].tensor);
    if (is_empty(view, node)) return GGS_NODE_EMPTY;
    if ((view->run.flags & GGS_RUN_OPAQUE) != 0) return GGS_NODE_OPAQUE;
    return view->run.skipped > 0 && tensor != NULL && (tensor->flags & COMPUTE_FLAG) == 0 ? GGS_NODE_SKIPPED
                                                                                          : GGS_NODE_UNSEEN;
}

static void mark(struct ggs_graph_view * view, const struct ggs_op_seen * op) {
    struct ggs_node_view * node = &view->nodes[op->node];
    uint64_t               left = op->absorbed;
    if (node->head == 0) node->begin_ns = op->begin_ns;
    node->state = GGS_NODE_EXECUTED;
    node->head  = (uint32_t) op->node + 1;
    node->duration_ns += op->end_ns > op->begin_ns ? (uint64_t) (op->end_ns - op->begin_ns) : 0;
    for (uint64_t i = op->node + 1; left > 0 && i < view->graph->n_nodes; i++) {
        if (is_empty(view, i)) continue;
        view->nodes[i].state = GGS_NODE_ABSORBED;
        view->nodes[i].head  = (uint32_t) op->node + 1;
        left--;
    }
}

static int mark_runs(struct ggs_graph_view * view, bool step, struct ggs_error * error) {
    struct ggs_trace  trace = ggs_trace_borrow(&view->trace); // the walk also reads other graphs
    struct ggs_walk * walk;
    trace.watch = view->trace.watch;
    int status  = step && view->run.step >= 0 ? ggs_walk_open(&walk, &trace, view->run.step, view->run.step, error)
                                              : ggs_walk_open_runs(&walk, &trace, view->run.run, view->run.run, error);
    if (status == 0) walk->sums_only = true;
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        if (walk->run.graph != view->run.graph) continue;
        view->runs++;
        while (walk->graph != NULL && ggs_walk_op(walk)) mark(view, &walk->op);
    }
    ggs_walk_close(walk);
    ggs_trace_return(&trace);
    return status < 0 ? status : 0;
}

int ggs_graph_view_compute(struct ggs_graph_view * view, struct ggs_trace * trace, const struct ggs_run * run,
                           bool step, struct ggs_error * error) {
    *view             = (struct ggs_graph_view){.trace = ggs_trace_borrow(trace), .run = *run};
    view->trace.watch = trace->watch;
    uint32_t * last   = NULL;
    int        status = ggs_trace_graph(&view->trace, run->graph, &view->graph, error);
    if (status == 0) {
        uint64_t nodes = view->graph->n_nodes + 1, edges = view->graph->n_edges + 1, tensors = trace->n_tensors + 1;
        view->nodes   = calloc(nodes, sizeof(*view->nodes));
        view->real    = calloc(nodes, sizeof(*view->real));
        view->from    = calloc(edges, sizeof(*view->from));
        view->leaves  = calloc(edges, sizeof(*view->leaves));
        view->leaf_of = calloc(tensors, sizeof(*view->leaf_of));
        last          = calloc(tensors, sizeof(*last));
        if (view->nodes == NULL || view->real == NULL || view->from == NULL || view->leaves == NULL ||
            view->leaf_of == NULL || last == NULL)
            status = ggs_fail_memory(error);
    }
    for (uint64_t i = 0; status == 0 && i < view->graph->n_nodes; i++)
        view->nodes[i] = (struct ggs_node_view){.state = state_before(view, i), .layer = layer_at(view, i)};
    if (status == 0) {
        sweep(view, last);
        status = mark_runs(view, step, error);
    }
    free(last);
    if (status < 0) ggs_graph_view_release(view);
    return status;
}

void ggs_graph_view_release(struct ggs_graph_view * view) {
    free(view->nodes);
    free(view->real);
    free(view->from);
    free(view->leaves);
    free(view->leaf_of);
    ggs_trace_return(&view->trace);
    *view = (struct ggs_graph_view){0};
}

int ggs_graph_runs(struct ggs_trace * trace, int64_t token, uint64_t run, struct ggs_run ** runs, uint64_t * n,
                   struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      row;
    uint64_t            capacity = 0;
    *runs = NULL, *n = 0;
    int status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    if (run != 0)
        ggs_cursor_keys(cursor, (int64_t) run, (int64_t) run);
    else
        status = ggs_cursor_steps(cursor, token, token, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        if (!ggs_array_push(*runs, *n, capacity, row)) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    if (status == 0 && *n == 0 && run != 0)
        status = ggs_fail(error, GGS_ABSENT, "there is no graph run %" PRIu64, run);
    else if (status == 0 && *n == 0)
        status = ggs_fail(
            error, GGS_ABSENT, "there is no graph of %s %" PRId64 "; the experiment has %" PRIu64 " of them, from 0",
            trace->tokenless ? "graph run" : "token step", token, ggs_reader_rows(trace->reader, GGS_TABLE_STEPS));
    if (status < 0) {
        free(*runs);
        *runs = NULL, *n = 0;
    }
    return status;
}

const struct ggs_run * ggs_graph_main_run(const struct ggs_run * runs, uint64_t n) {
    const struct ggs_run * most = runs;
    for (uint64_t i = 1; i < n; i++)
        if (runs[i].executed > most->executed) most = &runs[i];
    return most;
}
