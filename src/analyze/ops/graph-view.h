// A graph as executed by the runs of a token step: state and time of each node, and the node that
// computes what another one reads, also across nodes that compute nothing (views, reshapes).
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
    GGS_NODE_ABSORBED, // fused into an earlier node
    GGS_NODE_EMPTY,    // a view or the like: nothing to compute
    GGS_NODE_SKIPPED,  // by the engine's choice
    GGS_NODE_OPAQUE,   // on a backend that is seen as a whole
    GGS_NODE_UNSEEN,
    GGS_NODE_STATES
};
const char * ggs_node_state_name(uint64_t state); // "executed", "absorbed", "empty", "skipped", ...

struct ggs_graph_view {
    struct ggs_trace         trace; // borrowed, with its own graph
    const struct ggs_graph * graph;
    struct ggs_run           run;  // the requested run
    uint64_t                 runs; // of the token step, with this graph
    struct ggs_node_view {
        enum ggs_node_state state;
        int                 layer;       // -1: none
        uint32_t            head;        // node + 1 of its op: itself if executed; 0: not computed
        int64_t             begin_ns;    // in the first run
        uint64_t            duration_ns; // summed over runs
    } * nodes;
    uint32_t * from;   // by edge: node + 1 that computes its data; 0: outside
    uint32_t * real;   // by node: node + 1 that computes its contents: itself, or past views; 0: outside
    uint64_t * leaves; // distinct tensors from outside, in order of their first readers
    uint64_t   n_leaves;
    uint32_t * leaf_of; // by tensor - 1: index in leaves + 1
};

// `step`: with the times of all runs of the token step with the same graph, else of this run only.
// Updates watch->done if the trace has a watch.
int  ggs_graph_view_compute(struct ggs_graph_view * view, struct ggs_trace * trace, const struct ggs_run * run,
                            bool step, struct ggs_error * error);
void ggs_graph_view_release(struct ggs_graph_view * view);

// Lists nodes that compute what `node` reads, or that read its result, each once. Returns the
// number.
enum { GGS_NEIGHBOURS_MOST = 64 };
unsigned ggs_graph_view_producers(const struct ggs_graph_view * view, uint64_t node,
                                  uint32_t nodes[GGS_NEIGHBOURS_MOST]);
unsigned ggs_graph_view_consumers(const struct ggs_graph_view * view, uint64_t node,
                                  uint32_t nodes[GGS_NEIGHBOURS_MOST]);

// Finds the graph runs of a token step, or the run of that number (from 1; 0: by token step). The
// caller frees *runs. GGS_ABSENT if there is none.
int ggs_graph_runs(struct ggs_trace * trace, int64_t token, uint64_t run, struct ggs_run ** runs, uint64_t * n,
                   struct ggs_error * error);
// The one of n > 0 runs that executed most nodes.
const struct ggs_run * ggs_graph_main_run(const struct ggs_run * runs, uint64_t n);
