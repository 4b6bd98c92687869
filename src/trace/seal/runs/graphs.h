// Graphs and their tensors during sealing: each distinct tensor and each graph is written once. A
// graph that differs from a known one only in addresses is written as the rows that differ.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/seal/places.h"

enum ggs_node_kind {
    GGS_NODE_IS_EMPTY   = 1, // computes nothing: a view, or a shape with a 0
    GGS_NODE_IS_COMPUTE = 2, // its compute flag is on
};

// Where a graph has its tokens, positions and wanted outputs: index data of (node, slot). node -1
// for none.
struct ggs_graph_input {
    int64_t  node;
    uint32_t slot;
};

struct ggs_seal_graph {
    uint64_t                    id;
    struct ggs_seal_graph *     root; // the graph whose nodes it shares, or itself
    uint32_t                    n_nodes, n_tensors;
    struct ggs_journal_tensor * tensors; // roots only, from here on
    const char **               names;   // into `text`
    char *                      text;
    uint64_t *                  ids;      // rows of the tensors table
    uint8_t *                   kinds;    // of nodes
    bool                        computes; // some node has a compute flag
    struct ggs_graph_input      tokens, positions, outputs;
    struct ggs_journal_move *   moves; // others: differences from the root
    uint64_t                    n_moves;
};

struct ggs_graphs {
    struct ggs_writer *      writer;
    struct ggs_places *      places;
    struct ggs_seal_graph ** list;
    size_t                   n, capacity;
    struct ggs_map           numbers; // graph -> index + 1
    struct ggs_map           tensors; // contents -> tensor
    uint64_t                 n_tensors;
    char **                  ops; // names by number
    size_t                   n_ops;
    uint64_t                 n_types;
    bool                     computes; // some graph has a compute flag
    uint64_t                 damaged;
};

void ggs_graphs_release(struct ggs_graphs * graphs);
// The text of GGS_JOURNAL_OPS and GGS_JOURNAL_TYPES.
void ggs_graphs_ops(struct ggs_graphs * graphs, const char * text, size_t length);
void ggs_graphs_types(struct ggs_graphs * graphs, const char * text, size_t length);
// The bodies of GGS_JOURNAL_GRAPH and GGS_JOURNAL_GRAPH_DELTA.
void ggs_graphs_define(struct ggs_graphs * graphs, const void * body, size_t length, int64_t ns);
void ggs_graphs_define_delta(struct ggs_graphs * graphs, const void * body, size_t length, int64_t ns);
// NULL if the number is unknown.
struct ggs_seal_graph * ggs_graphs_get(const struct ggs_graphs * graphs, uint64_t id);
