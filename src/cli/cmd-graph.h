// What ggscope graph shows of one graph, and its forms.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/walk/walk.h"
#include "base/json.h"

enum ggs_node_state { GGS_NODE_OPAQUE, GGS_NODE_EMPTY, GGS_NODE_EXECUTED, GGS_NODE_ABSORBED, GGS_NODE_MISSING };

// A graph as one run went through it.
struct ggs_graph_view {
    const struct ggs_trace * trace;
    const struct ggs_graph * graph;
    struct ggs_run           run;   // the first that used it in the token step
    uint64_t                 again; // further runs of the step that used the same graph
    uint64_t                 first; // number of its first node: those of a step's graphs continue each other
    struct ggs_node_view {
        enum ggs_node_state state;
        int64_t             begin_ns;
        uint64_t            duration_ns;
        int                 layer;
    } * nodes;
    uint32_t * producer; // by tensor: node + 1 that computes it, 0 for none
    bool *     written;  // by tensor - 1: leaves that were written; those of a step's graphs share it
};

// Where does the data of this tensor come from: a weight, an input, a cache? That is: no node here computes it, or what it is
// a view of.
bool ggs_graph_is_leaf(const struct ggs_graph_view * view, const struct ggs_tensor * tensor);

enum { GGS_SHAPE_LENGTH = 96, GGS_PLACE_LENGTH = 80 };
char *       ggs_graph_shape(char buffer[GGS_SHAPE_LENGTH], const struct ggs_tensor * tensor); // "256 x 5"
char *       ggs_graph_place(char buffer[GGS_PLACE_LENGTH], const struct ggs_tensor * tensor); // "DISK 742528"
const char * ggs_graph_name(const struct ggs_graph_view * view, const struct ggs_tensor * tensor);
const char * ggs_graph_type(const struct ggs_graph_view * view, const struct ggs_tensor * tensor);

void ggs_graph_text(const struct ggs_graph_view * view, FILE * file, bool all);
void ggs_graph_dot(struct ggs_graph_view * view, FILE * file); // the body: clusters, nodes and edges
void ggs_graph_json_nodes(struct ggs_graph_view * view, struct ggs_json * json);
void ggs_graph_json_edges(const struct ggs_graph_view * view, struct ggs_json * json);
