// Which ops of a graph read weights: found when a run of it begins, by the thread that begins it;
// then all its threads look them up.
//
// All functions but ggs_uses_at: with the stream's lock held.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/weights/experts.h"

// A source of an op that is exchanged while it runs.
struct ggs_use {
    struct abi_tensor * node;
    uint32_t            number, source; // of the node in its graph
    struct ggs_weight * weight;
    int32_t             routing; // number of what is known of its experts, -1: the whole weight is read
    struct abi_tensor * before[2];
    bool                exchanged;
};

// What is to be done when a node begins. Threads of other graphs look here too while this one is
// surveyed: what they read is written atomically, and none of their nodes is here.
struct ggs_action {
    const struct abi_tensor * node;
    uint64_t                  generation;
    uint32_t                  first, n; // uses
    struct ggs_routing *      route;    // whose ids are there by now
};

// By node, open addressing. A larger one takes its place, but it stays: a thread of another run may
// be looking into it.
struct ggs_action_table {
    struct ggs_action_table * smaller;
    uint32_t                  mask;
    struct ggs_action         actions[];
};

struct ggs_uses {
    uint64_t                  generation; // of what was found
    struct ggs_action_table * table;
    struct ggs_use *          uses;
    size_t                    n, capacity;
    struct ggs_routing *      routings; // in order of use
    size_t                    n_routings, routings_capacity;
    uint64_t                  bytes; // of the weights, as often as they are used
    bool                      grown; // the graph reaches further into the engine's memory than any before
    struct {
        bool known;
        int  none, view, reshape, permute, transpose, get_rows, mul_mat, mul_mat_id;
    } ops;
};

void ggs_uses_release(struct ggs_uses * uses);

// Looks through the graph. False if there is no memory for what it found.
bool ggs_uses_survey(struct ggs_stream * stream, const struct abi_graph * graph);

// What is to be done at this node, NULL: nothing. By any thread.
const struct ggs_action * ggs_uses_at(const struct ggs_uses * uses, const struct abi_tensor * node);

// Has the kernel read single pages of what is left to the page cache: small weights, and rows of
// tables.
void ggs_uses_advise(struct ggs_stream * stream, const struct abi_graph * graph);

// Bytes of a tensor without gaps, 0 if it has some.
uint64_t ggs_tensor_bytes(const struct abi_functions * engine, const struct abi_tensor * tensor);
