// Which ops of a graph read weights: found anew when a run of it begins, by the thread that begins it; then all its threads look them up.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream/experts.h"
#include "stream/stream.h"

enum { GGS_USES_GROUPS = 1024 };

// A source of an op that is exchanged while it runs.
struct ggs_use {
    struct abi_tensor *  node;
    uint32_t             number, source; // of the node in its graph
    struct ggs_weight *  weight;
    struct ggs_routing * routing; // NULL: the whole weight is read
    const char *         adopt;   // data of a whole expert weight, to fill slots from afterwards
    struct abi_tensor *  before[2];
    bool                 exchanged;
};

// What is to be done when a node begins.
struct ggs_action {
    const struct abi_tensor * node;
    uint64_t                  generation;
    uint32_t                  first, n; // uses
    struct ggs_routing *      route;    // whose ids are there by now
};

struct ggs_uses {
    uint64_t           generation; // of what was found
    struct ggs_use *   uses;
    uint32_t           n, capacity;
    struct ggs_routing routings[GGS_USES_GROUPS];
    uint32_t           n_routings;
    uint64_t           bytes; // of the weights, as often as they are used
    bool               grown; // the graph reaches further into the engine's memory than any before
};
extern struct ggs_uses ggs_uses;

// Looks through the graph. False if there is no memory for what it found.
bool ggs_uses_survey(const struct abi_graph * graph);

// Notes at which nodes the experts of a token are known.
void ggs_uses_plan_routes(const struct abi_graph * graph);

// What is to be done at this node, NULL: nothing.
const struct ggs_action * ggs_uses_at(const struct abi_tensor * node);

// Has the kernel read single pages of what is left to the page cache: small weights, and rows of tables.
void ggs_uses_advise(const struct abi_graph * graph);
