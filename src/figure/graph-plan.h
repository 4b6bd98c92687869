// Where the nodes of a graph lie in a figure: in columns of blocks, one block per layer, each node
// below all nodes of its block that it reads. Nodes that compute nothing are left out.
//
//     struct ggs_graph_plan plan = {.view = &view, .layer = -1};
//     ggs_graph_plan_make(&plan, &error)
//     ggs_graph_plan_release(&plan)
#pragma once

#include <stdint.h>

#include "analyze/ops/graph-view.h"

struct ggs_plan_item { // a node, or the bend of an edge
    uint32_t node;     // + 1; 0: a bend
    uint32_t block;
    uint32_t line;   // from the top of its block
    double   x;      // middle, in widths of a node
    double   wanted; // mean of its neighbours' x
    uint32_t neighbours;
};

struct ggs_plan_link {
    uint32_t from, to; // items in successive lines of a block
};

struct ggs_plan_block {
    int    layer;    // -1: none
    double from, to; // of x
};

struct ggs_graph_plan {
    const struct ggs_graph_view * view;
    int                           layer; // the only one that is wanted; -1: all
    // the result
    struct ggs_plan_block * blocks;
    uint64_t                n_blocks;
    struct ggs_plan_item *  items;
    uint64_t                n_items;
    struct ggs_plan_link *  links;
    uint64_t                n_links;
    uint32_t                lines;
    // private
    uint64_t   block_capacity, item_capacity, link_capacity;
    uint32_t * item_of; // by node: + 1
};

int  ggs_graph_plan_make(struct ggs_graph_plan * plan, struct ggs_error * error);
void ggs_graph_plan_release(struct ggs_graph_plan * plan);
