// The ops of a graph that read weights. The thread that begins a run finds them; all threads of the
// run look them up.
//
// All functions except ggs_uses_at need the stream's lock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/weights/expert-slots.h"

// A source of an op that is replaced while the op runs.
struct ggs_use {
    struct abi_tensor * node;
    uint32_t            number, source; // of the node in its graph
    struct ggs_weight * weight;
    int32_t             routing; // index of its routing, -1: the whole weight is read
    struct abi_tensor * before[2];
    bool                exchanged;
};

// Actions at the start of a node. Threads of other graphs look here too during a survey: what they
// read is written atomically, and none of their nodes is here.
struct ggs_action {
    const struct abi_tensor * node;
    uint64_t                  generation;
    uint32_t                  first, n; // uses
    struct ggs_routing *      route;    // its ids are available at this node
};

// By node, open addressing. A larger table replaces it, but it is never freed, because a thread of
// another run may be reading it.
struct ggs_action_table {
    struct ggs_action_table * smaller;
    uint32_t                  mask;
    struct ggs_action         actions[];
};

struct ggs_uses {
    uint64_t                  generation; // of the current contents
    struct ggs_action_table * table;
    struct ggs_use *          uses;
    size_t                    n, capacity;
    struct ggs_routing *      routings; // in order of use
    size_t                    n_routings, routings_capacity;
    uint64_t                  bytes; // of the weights, counted per use
    bool                      grown; // the graph reaches further into the engine's memory than any earlier one
    struct {
        bool known;
        int  none, view, reshape, permute, transpose, get_rows, mul_mat, mul_mat_id;
    } ops;
};

void ggs_uses_release(struct ggs_uses * uses);

// Surveys the graph. False if memory is out.
bool ggs_uses_survey(struct ggs_stream * stream, const struct abi_graph * graph);

// Returns the action at this node, NULL: none. Callable from any thread.
const struct ggs_action * ggs_uses_at(const struct ggs_uses * uses, const struct abi_tensor * node);

// Makes the kernel read only single pages of what is left to the page cache: small weights, and
// rows of tables.
void ggs_uses_advise(struct ggs_stream * stream, const struct abi_graph * graph);

// Returns the bytes of a tensor without gaps, 0 if it has gaps.
uint64_t ggs_tensor_bytes(const struct abi_functions * engine, const struct abi_tensor * tensor);
