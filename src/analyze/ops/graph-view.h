// A graph as the runs of a token step went through it: what became of each node, how long it took,
// and which node computes what another one reads, also seen past nodes that compute nothing (views,
// reshapes).
//
//     struct ggs_graph_view view;
//     ggs_graph_view_compute(&view, &trace, &run, true, &error);
//     for (uint64_t i = 0; i < view.graph->n_nodes; i++) ... view.nodes[i].state
//     ggs_graph_view_release(&view);
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

enum ggs_node_state {
    GGS_NODE_EXECUTED,
    GGS_NODE_ABSORBED, // computed together with a node before it
    GGS_NODE_EMPTY,    // a view or the like: nothing to compute
    GGS_NODE_SKIPPED,  // by the engine's choice
    GGS_NODE_OPAQUE,   // ran on a backend that is seen as a whole only
    GGS_NODE_UNSEEN,
    GGS_NODE_STATES
};
const char * ggs_node_state_name(uint64_t state); // "executed", "absorbed", "empty", "skipped", ...

struct ggs_graph_view {
    struct ggs_trace         trace; // borrowed, with a graph of its own
    const struct ggs_graph * graph;
    struct ggs_run           run;  // that was asked for
    uint64_t                 runs; // of the token step, that used this graph
    struct ggs_node_view {
        enum ggs_node_state state;
        int                 layer;    // -1: none
        uint32_t            head;     // node + 1 that it was computed with: itself if executed; 0: it was not computed
        int64_t             begin_ns; // of the first run
        uint64_t            duration_ns; // of all runs
    } * nodes;
    uint32_t * from;   // by edge: node + 1 that computes what it brings; 0: it comes from outside
    uint32_t * real;   // by node: node + 1 that computes its contents: itself, or past views; 0: it comes from outside
    uint64_t * leaves; // tensors that come from outside, each once, in the order of their first readers
    uint64_t   n_leaves;
    uint32_t * leaf_of; // by tensor - 1: place in leaves + 1
};

// `step`: with the times of all runs of the same token step that used the same graph, else of the
// run alone. With watch->done if the trace has a watch.
int  ggs_graph_view_compute(struct ggs_graph_view * view, struct ggs_trace * trace, const struct ggs_run * run,
                            bool step, struct ggs_error * error);
void ggs_graph_view_release(struct ggs_graph_view * view);

// Nodes that compute what `node` reads, or read what it computes, each once. Returns how many.
enum { GGS_NEIGHBOURS_MOST = 64 };
unsigned ggs_graph_view_producers(const struct ggs_graph_view * view, uint64_t node,
                                  uint32_t nodes[GGS_NEIGHBOURS_MOST]);
unsigned ggs_graph_view_consumers(const struct ggs_graph_view * view, uint64_t node,
                                  uint32_t nodes[GGS_NEIGHBOURS_MOST]);

// The graph runs of a token step, or the one run of that number (from 1; 0: go by the token step).
// The caller frees *runs. GGS_ABSENT if there is none.
int ggs_graph_runs(struct ggs_trace * trace, int64_t token, uint64_t run, struct ggs_run ** runs, uint64_t * n,
                   struct ggs_error * error);
