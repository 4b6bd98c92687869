#include "serve/graph-walks.h"

#include <stdlib.h>

#include "base/error.h"

enum { DEPTH = 16 }; // of views of views; a damaged trace may have a ring

int ggs_graph_walks_init(struct ggs_graph_walks * walks, const struct ggs_trace * trace, const struct ggs_graph * graph,
                         struct ggs_error * error) {
    *walks = (struct ggs_graph_walks){trace, graph, calloc(trace->n_tensors + 1, sizeof(uint32_t)),
                                      calloc(graph->n_nodes + 1, sizeof(uint32_t))};
    if (walks->last == NULL || walks->earlier == NULL) {
        ggs_graph_walks_release(walks);
        return ggs_fail_memory(error);
    }
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        uint64_t tensor = graph->nodes[i].tensor;
        if (tensor == 0 || tensor > trace->n_tensors) continue;
        walks->earlier[i]       = walks->last[tensor - 1];
        walks->last[tensor - 1] = (uint32_t) i + 1;
    }
    return 0;
}

void ggs_graph_walks_release(struct ggs_graph_walks * walks) {
    free(walks->last);
    free(walks->earlier);
    walks->last = walks->earlier = NULL;
}

int64_t ggs_graph_walks_producer(const struct ggs_graph_walks * walks, uint64_t tensor, uint64_t reader) {
    for (int depth = 0; depth < DEPTH && tensor > 0 && tensor <= walks->trace->n_tensors; depth++) {
        uint32_t node = walks->last[tensor - 1];
        while (node > reader) node = walks->earlier[node - 1];
        if (node != 0) return (int64_t) node - 1;
        tensor = walks->trace->tensors[tensor - 1].view;
    }
    return -1;
}

bool ggs_graph_walks_is_empty(const struct ggs_graph_walks * walks, uint64_t node) {
    return ggs_trace_op_kind(walks->trace, walks->graph->nodes[node].op) == GGS_KIND_EMPTY;
}

static unsigned add(uint32_t nodes[GGS_NEIGHBOURS_MOST], unsigned n, uint64_t node) {
    for (unsigned i = 0; i < n; i++) {
        if (nodes[i] == node) return n;
    }
    if (n < GGS_NEIGHBOURS_MOST) nodes[n++] = (uint32_t) node;
    return n;
}

static unsigned back(const struct ggs_graph_walks * walks, uint64_t node, uint32_t nodes[GGS_NEIGHBOURS_MOST],
                     unsigned n, int depth) {
    const struct ggs_graph * graph = walks->graph;
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        int64_t from = ggs_graph_walks_producer(walks, graph->edges[e].tensor, node);
        if (from < 0 || (uint64_t) from == node || (uint64_t) from >= graph->n_nodes) continue;
        if (!ggs_graph_walks_is_empty(walks, (uint64_t) from))
            n = add(nodes, n, (uint64_t) from);
        else if (depth < DEPTH)
            n = back(walks, (uint64_t) from, nodes, n, depth + 1);
    }
    return n;
}

unsigned ggs_graph_walks_producers(const struct ggs_graph_walks * walks, uint64_t node,
                                   uint32_t nodes[GGS_NEIGHBOURS_MOST]) {
    return back(walks, node, nodes, 0, 0);
}

// Every later node is asked for its producers: one pass over the graph, which has some hundred nodes.
unsigned ggs_graph_walks_consumers(const struct ggs_graph_walks * walks, uint64_t node,
                                   uint32_t nodes[GGS_NEIGHBOURS_MOST]) {
    unsigned n = 0;
    for (uint64_t i = node + 1; i < walks->graph->n_nodes && n < GGS_NEIGHBOURS_MOST; i++) {
        uint32_t sources[GGS_NEIGHBOURS_MOST];
        if (ggs_graph_walks_is_empty(walks, i)) continue;
        unsigned found = ggs_graph_walks_producers(walks, i, sources);
        for (unsigned k = 0; k < found; k++) {
            if (sources[k] == node) n = add(nodes, n, i);
        }
    }
    return n;
}
