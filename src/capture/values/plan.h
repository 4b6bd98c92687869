// How the output of each node of a graph divides into rows, one per token.
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/graphs.h"
#include "preload/ggml-abi.h"

enum ggs_values_kind {
    GGS_VALUES_NONE, // not wanted, or cannot be read
    GGS_VALUES_ROWS, // one row per index of dimension `dim`, or one row if `dim` is negative. If there
                     // are more rows than indices, they go on in the last dimension
    GGS_VALUES_SET,  // the rows that source 1 selects (SET_ROWS)
};

// The user's request.
struct ggs_values_asked {
    bool    some; // only what matches the pattern, by "OP:tensor"
    regex_t pattern;
    bool    dumps; // what matches this one is recorded whole
    regex_t dump;
};

struct ggs_values_node {
    uint8_t  kind; // enum ggs_values_kind
    int8_t   dim;
    bool     empty;      // computes nothing: a view, or a node that the engine skips
    bool     view;       // empty, and has only a part of its origin
    bool     dump;       // its inputs and output are recorded whole
    bool     output;     // its rows are the tokens whose outputs are wanted
    bool     tokens;     // its rows are tokens
    uint32_t rows, next; // next: the node that is computed after it
    uint32_t last_use;   // last node that needs its output, directly or reshaped; 0 for none
    uint32_t group_end;  // devices: after the group that begins here; 0 if unknown
    uint64_t elements;   // of a row
    uint64_t bytes;      // of the whole output, gaps included; 0 if unknown, or if the op may write
                         // elsewhere too
};

// A source that no node makes: a weight or an input of the graph.
struct ggs_values_leaf {
    uint32_t node;
    uint8_t  source;
    bool     input;
};

struct ggs_values_plan {
    const struct ggs_captured_graph * graph; // the base of the graphs that it holds for
    struct ggs_values_plan *          older;
    uint32_t                          n_nodes, n_tokens, n_outputs;
    uint32_t                          most_rows, most_pieces; // of a node
    int32_t                           outputs_node;           // GET_ROWS of the outputs, or -1
    struct ggs_values_leaf *          leafs;                  // each once
    uint32_t                          n_leafs;
    bool                              weighed; // weights were read
    struct ggs_values_node            node[];
};

// For a graph that the calling thread schedules. The parts that backends compute may not say which
// tokens they are about.
void ggs_values_plan_schedule(const struct abi_graph * graph);
// Returns the positions of those tokens, once per graph; NULL if unknown or returned before. They
// live until the thread schedules the next graph.
const int32_t * ggs_values_plan_positions(uint32_t * n);

// Returns the plan of a graph, which is made once and never freed. NULL if out of memory.
struct ggs_values_plan * ggs_values_plan(const struct abi_graph * graph, const struct ggs_captured_graph * known,
                                         const struct ggs_values_asked * asked);
// Finds the leafs of wanted nodes. In leafs.c.
void ggs_values_plan_leafs(struct ggs_values_plan * plan, const struct abi_graph * graph);
// The I32 tensor that names the tokens whose outputs are wanted; NULL if there is none.
const struct abi_tensor * ggs_values_plan_outputs(const struct ggs_values_plan * plan, const struct abi_graph * graph);
