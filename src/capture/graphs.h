// Recognises a graph, and writes a new one to the journal.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/ggml-abi.h"

// A graph in the journal. Lives as long as the recording; read by all threads, changed by none.
struct ggs_captured_graph {
    uint64_t                          id;            // from 1
    uint32_t                          n_nodes;       // at most as many ops per thread and run
    uint32_t                          last_executed; // index of the last node that is computed
    uint64_t                          index_bytes;   // room for index data in thread 0's lane
    uint8_t *                         copies;        // per node: bit s copies source s at the begin
    const struct ggs_captured_graph * base;          // equal but for addresses; or itself
};

// Numbers of ops, found by name in the running library.
struct ggs_graph_ops {
    int none, view, reshape, permute, transpose; // the empty ones
    int get_rows, set_rows, mul_mat_id, rope, mul;
};

// Recognises `graph`, or writes its definition to the journal. NULL if memory or the journal's room
// is exhausted. Thread-safe; takes a lock.
const struct ggs_captured_graph * ggs_graphs_identify(const struct abi_graph *     graph,
                                                      const struct abi_functions * functions);

// Reports that `engine` (an address that identifies it) assigned a number to a graph. A graph with
// an unchanged number needs no identification. Numbers are ignored if several engines assign them.
void ggs_graphs_numbered(const void * engine, uint64_t uid);

// Frees all graphs after a recording, when no run is in progress. In a forked child they are only
// forgotten.
void ggs_graphs_reset(bool forked);

// Returns the graph last identified at the same address, which is mostly right. NULL for none.
const struct ggs_captured_graph * ggs_graphs_guess(const struct abi_graph * graph);
