// Who computes what in a graph, also seen past nodes that compute nothing (views, reshapes).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_graph_walks {
    const struct ggs_trace * trace;
    const struct ggs_graph * graph;
    uint32_t *               from; // by edge: node + 1 that computes what it brings; 0: it comes from outside
    uint32_t * real; // by node: node + 1 that computes its contents: itself, or past views; 0: it comes from outside
};

int ggs_graph_walks_init(struct ggs_graph_walks * walks, const struct ggs_trace * trace, const struct ggs_graph * graph,
                         struct ggs_error * error);
void ggs_graph_walks_release(struct ggs_graph_walks * walks);

bool ggs_graph_walks_is_empty(const struct ggs_graph_walks * walks, uint64_t node);

// Nodes that compute what `node` reads, or read what it computes, each once. Returns how many.
enum { GGS_NEIGHBOURS_MOST = 64 };
unsigned ggs_graph_walks_producers(const struct ggs_graph_walks * walks, uint64_t node,
                                   uint32_t nodes[GGS_NEIGHBOURS_MOST]);
unsigned ggs_graph_walks_consumers(const struct ggs_graph_walks * walks, uint64_t node,
                                   uint32_t nodes[GGS_NEIGHBOURS_MOST]);
