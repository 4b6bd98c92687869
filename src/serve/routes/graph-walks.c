#include "serve/routes/graph-walks.h"

#include <stdlib.h>

#include "base/error.h"

enum { DEPTH = 16 }; // of views of views; a damaged trace may have a ring

bool ggs_graph_walks_is_empty(const struct ggs_graph_walks * walks, uint64_t node) {
    return ggs_trace_op_kind(walks->trace, walks->graph->nodes[node].op) == GGS_KIND_EMPTY;
}

// The last node so far that computed the tensor, or what it is a view of; + 1, 0 for none.
static uint32_t producer_of(const struct ggs_trace * trace, const uint32_t * last, uint64_t tensor) {
    for (int depth = 0; depth < DEPTH && tensor > 0 && tensor <= trace->n_tensors; depth++) {
        if (last[tensor - 1] != 0) return last[tensor - 1];
        tensor = trace->tensors[tensor - 1].view;
    }
    return 0;
}

// In the order of the nodes, because two of them may compute the same tensor one after the other (a name, an address and a shape used again):
// what a node reads is the work of the last one before it.
static void sweep(struct ggs_graph_walks * walks, uint32_t * last) {
    const struct ggs_graph * graph = walks->graph;
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        uint64_t first = graph->first_edge[i], tensor = graph->nodes[i].tensor;
        for (uint64_t e = first; e < graph->first_edge[i + 1]; e++)
            walks->from[e] = producer_of(walks->trace, last, graph->edges[e].tensor);
        walks->real[i] = (uint32_t) i + 1;
        if (ggs_graph_walks_is_empty(walks, i)) {
            uint32_t source = first < graph->first_edge[i + 1] ? walks->from[first] : 0;
            walks->real[i]  = source == 0 ? 0 : walks->real[source - 1];
        }
        if (tensor > 0 && tensor <= walks->trace->n_tensors) last[tensor - 1] = (uint32_t) i + 1;
    }
}

int ggs_graph_walks_init(struct ggs_graph_walks * walks, const struct ggs_trace * trace, const struct ggs_graph * graph,
                         struct ggs_error * error) {
    uint32_t * last = calloc(trace->n_tensors + 1, sizeof(*last));
    *walks          = (struct ggs_graph_walks){trace, graph, calloc(graph->n_edges + 1, sizeof(uint32_t)),
                                               calloc(graph->n_nodes + 1, sizeof(uint32_t))};
    bool failed     = last == NULL || walks->from == NULL || walks->real == NULL;
    if (failed)
        ggs_graph_walks_release(walks);
    else
        sweep(walks, last);
    free(last);
    return failed ? ggs_fail_memory(error) : 0;
}

void ggs_graph_walks_release(struct ggs_graph_walks * walks) {
    free(walks->from);
    free(walks->real);
    walks->from = walks->real = NULL;
}

static unsigned add(uint32_t nodes[GGS_NEIGHBOURS_MOST], unsigned n, uint32_t node) {
    for (unsigned i = 0; i < n; i++) {
        if (nodes[i] == node) return n;
    }
    if (n < GGS_NEIGHBOURS_MOST) nodes[n++] = node;
    return n;
}

// node + 1 that an edge's contents come from; 0 for outside.
static uint32_t real_source(const struct ggs_graph_walks * walks, uint64_t edge) {
    return walks->from[edge] == 0 ? 0 : walks->real[walks->from[edge] - 1];
}

unsigned ggs_graph_walks_producers(const struct ggs_graph_walks * walks, uint64_t node,
                                   uint32_t nodes[GGS_NEIGHBOURS_MOST]) {
    unsigned n = 0;
    for (uint64_t e = walks->graph->first_edge[node]; e < walks->graph->first_edge[node + 1]; e++) {
        uint32_t source = real_source(walks, e);
        if (source != 0) n = add(nodes, n, source - 1);
    }
    return n;
}

unsigned ggs_graph_walks_consumers(const struct ggs_graph_walks * walks, uint64_t node,
                                   uint32_t nodes[GGS_NEIGHBOURS_MOST]) {
    const struct ggs_graph * graph = walks->graph;
    unsigned                 n     = 0;
    for (uint64_t e = graph->first_edge[node + 1]; e < graph->n_edges; e++) {
        if (real_source(walks, e) != node + 1 || ggs_graph_walks_is_empty(walks, graph->edges[e].node)) continue;
        n = add(nodes, n, (uint32_t) graph->edges[e].node);
    }
    return n;
}
