// Op and layer of each node of each graph, in four bytes per node, for views with many lookups.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_node_op {
    uint16_t op;    // UINT16_MAX: unknown
    int16_t  layer; // from its result's name; -1: none
};

struct ggs_node_ops_graph {
    uint32_t             graph;
    uint32_t             n_nodes;
    struct ggs_node_op * ops;   // shared by graphs with the same base
    bool                 owned; // this is the base
};

struct ggs_node_ops {
    struct ggs_node_ops_graph * graphs; // by number
    uint64_t                    n_graphs;
};

// On failure the readable part is available; release it as usual.
int  ggs_node_ops_read(struct ggs_node_ops * ops, struct ggs_trace * trace, struct ggs_error * error);
void ggs_node_ops_release(struct ggs_node_ops * ops);

// Returns UINT16_MAX and no layer for an unknown node.
struct ggs_node_op ggs_node_ops_get(const struct ggs_node_ops * ops, uint32_t graph, uint64_t node);
