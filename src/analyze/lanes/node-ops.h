// Which op each node of each graph is, and of which layer: four bytes per node, for views that look
// many nodes up.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_node_op {
    uint16_t op;    // UINT16_MAX: not known
    int16_t  layer; // that its result's name tells; -1: none
};

struct ggs_node_ops_graph {
    uint32_t             graph;
    uint32_t             n_nodes;
    struct ggs_node_op * ops;   // shared by graphs that have the same base
    bool                 owned; // it is the base
};

struct ggs_node_ops {
    struct ggs_node_ops_graph * graphs; // by number
    uint64_t                    n_graphs;
};

// On failure what could be read is there, and is released as usual.
int  ggs_node_ops_read(struct ggs_node_ops * ops, struct ggs_trace * trace, struct ggs_error * error);
void ggs_node_ops_release(struct ggs_node_ops * ops);

// UINT16_MAX and no layer if the node is not known.
struct ggs_node_op ggs_node_ops_get(const struct ggs_node_ops * ops, uint32_t graph, uint64_t node);
