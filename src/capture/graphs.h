// Which graph is this? Recognises a graph that was seen before, and tells the journal of a new one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/ggml-abi.h"

// What is known of a graph for as long as the process lives. Read by all threads, changed by none.
struct ggs_known_graph {
    uint64_t  id;            // from 1
    uint32_t  n_nodes;       // at most this many ops per thread and run: old releases visit empty nodes too
    uint32_t  last_executed; // index of the last node that is computed
    uint64_t  index_bytes;   // room that thread 0 needs in its lane for index data
    uint8_t * copies;        // per node: bit s set: copy source s into the lane when the op begins
};

// Numbers of the ops that matter here, found by name in the running library.
struct ggs_graph_ops {
    int none, view, reshape, permute, transpose; // the empty ones
    int get_rows, set_rows, mul_mat_id, rope, mul;
};

// Recognises `graph`, or writes its definition to the journal. NULL if memory or the journal's room ran out.
// Thread-safe; takes a lock.
const struct ggs_known_graph * ggs_graphs_identify(const struct abi_graph *     graph,
                                                   const struct abi_functions * functions);

// `engine` (any address that stands for it) handed out a number for a graph: one that still has the number it had before needs not be looked
// at. If several engines do, all graphs are looked at.
void ggs_graphs_numbered(const void * engine, uint64_t uid);

// What was identified last in the same place, without looking at the nodes: the next run is mostly the same. NULL if nothing was.
const struct ggs_known_graph * ggs_graphs_guess(const struct abi_graph * graph);
