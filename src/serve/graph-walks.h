// Who computes what in a graph, seen past nodes that compute nothing (views, reshapes).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/trace.h"

struct ggs_graph_walks {
    const struct ggs_trace * trace;
    const struct ggs_graph * graph;
    uint32_t *               last;    // by tensor - 1: the last node + 1 that computes it, 0 for none
    uint32_t *               earlier; // by node: the one + 1 before it that computes the same tensor
};

int ggs_graph_walks_init(struct ggs_graph_walks * walks, const struct ggs_trace * trace, const struct ggs_graph * graph,
                         struct ggs_error * error);
void ggs_graph_walks_release(struct ggs_graph_walks * walks);

// The node that computes the tensor for `reader`, or what it is a view of; -1 where it comes from outside. Two nodes may compute the same tensor
// one after the other (a name, an address and a shape used again): the last before the reader is the one.
int64_t ggs_graph_walks_producer(const struct ggs_graph_walks * walks, uint64_t tensor, uint64_t reader);
bool    ggs_graph_walks_is_empty(const struct ggs_graph_walks * walks, uint64_t node);

// Nodes that compute what `node` reads, or read what it computes: up to `most` of them into `nodes`, each once. Returns how many.
enum { GGS_NEIGHBOURS_MOST = 64 };
unsigned ggs_graph_walks_producers(const struct ggs_graph_walks * walks, uint64_t node,
                                   uint32_t nodes[GGS_NEIGHBOURS_MOST]);
unsigned ggs_graph_walks_consumers(const struct ggs_graph_walks * walks, uint64_t node,
                                   uint32_t nodes[GGS_NEIGHBOURS_MOST]);
