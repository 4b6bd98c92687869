// How the output of each node of a graph divides into rows, one per token.
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/graphs.h"
#include "preload/ggml-abi.h"

enum ggs_values_kind {
    GGS_VALUES_NONE, // not wanted, or cannot be read
    GGS_VALUES_ROWS, // one row per index of dimension `dim`, or one in all if that is negative
    GGS_VALUES_SET,  // what was written to the rows that source 1 names (SET_ROWS)
};

// What is asked for.
struct ggs_values_asked {
    bool    some; // only what matches the pattern, by "OP:tensor"
    regex_t pattern;
    bool    dumps; // what matches this one is kept whole
    regex_t dump;
};

struct ggs_values_node {
    uint8_t  kind; // enum ggs_values_kind
    int8_t   dim;
    bool     empty;      // nothing is computed there: a view, or a node that the engine skips
    bool     view;       // empty, and has only a part of what it is a view of
    bool     dump;       // its inputs and output are kept whole
    bool     output;     // its rows are those of the tokens whose outputs are wanted
    bool     tokens;     // its rows are tokens
    uint32_t rows, next; // next: the node that is computed after it
    uint32_t last_use;   // the last node that needs its output, by itself or as a reshaped one; 0: none
    uint32_t group_end;  // devices: behind the group that begins here, as the backend last computed it; 0: not known
    uint64_t elements;   // of a row
};

// What a node reads and no node makes: its source is a weight, or an input of the graph.
struct ggs_values_leaf {
    uint32_t node;
    uint8_t  source;
    bool     input;
};

struct ggs_values_plan {
    const struct ggs_captured_graph * graph; // the base of those that it holds for
    struct ggs_values_plan *          older;
    uint32_t                          n_nodes, n_tokens, n_outputs;
    uint32_t                          most_rows, most_pieces; // of a node
    int32_t                           outputs_node;           // GET_ROWS by the tensor that names the outputs, -1: none
    struct ggs_values_leaf *          leafs;                  // each once
    uint32_t                          n_leafs;
    bool                              weighed; // weights were read
    struct ggs_values_node            node[];
};

// The calling thread schedules a graph. The parts of it that backends compute may not say which
// tokens they are about.
void ggs_values_plan_schedule(const struct abi_graph * graph);
// Positions of those tokens, once per graph; NULL if they are not known, or were taken before. Live
// until the thread schedules the next one.
const int32_t * ggs_values_plan_positions(uint32_t * n);

// Made once per graph, then kept for good. NULL without memory.
struct ggs_values_plan * ggs_values_plan(const struct abi_graph * graph, const struct ggs_captured_graph * known,
                                         const struct ggs_values_asked * asked);
// Finds the leafs of nodes that are wanted. In leafs.c.
void ggs_values_plan_leafs(struct ggs_values_plan * plan, const struct abi_graph * graph);
// The tensor that names the tokens whose outputs are wanted, as I32; NULL if there is none.
const struct abi_tensor * ggs_values_plan_outputs(const struct ggs_values_plan * plan, const struct abi_graph * graph);
