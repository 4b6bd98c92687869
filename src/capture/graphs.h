// Recognises a graph that was seen before, and writes a new one to the journal.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/ggml-abi.h"

// A graph that is in the journal. Lives as long as the recording; read by all threads, changed by
// none.
struct ggs_captured_graph {
    uint64_t  id;            // from 1
    uint32_t  n_nodes;       // at most this many ops per thread and run: old releases visit empty nodes too
    uint32_t  last_executed; // index of the last node that is computed
    uint64_t  index_bytes;   // room that thread 0 needs in its lane for index data
    uint8_t * copies;        // per node: bit s set: copy source s into the lane when the op begins
    const struct ggs_captured_graph * base; // the one that it equals but for addresses; itself if there is none
};

// Numbers of the ops that matter here, found by name in the running library.
struct ggs_graph_ops {
    int none, view, reshape, permute, transpose; // the empty ones
    int get_rows, set_rows, mul_mat_id, rope, mul;
};

// Recognises `graph`, or writes its definition to the journal. NULL if memory or the journal's room
// ran out. Thread-safe; takes a lock.
const struct ggs_captured_graph * ggs_graphs_identify(const struct abi_graph *     graph,
                                                      const struct abi_functions * functions);

// `engine` (any address that stands for it) handed out a number for a graph: a graph that has kept
// its number needs no identification. If several engines hand out numbers, they are ignored.
void ggs_graphs_numbered(const void * engine, uint64_t uid);

// The recording is over, and no run is under way: frees all graphs. In the child of a fork they are
// only forgotten.
void ggs_graphs_reset(bool forked);

// The graph that was identified last at the same address, which it mostly still is. NULL for none.
const struct ggs_captured_graph * ggs_graphs_guess(const struct abi_graph * graph);
