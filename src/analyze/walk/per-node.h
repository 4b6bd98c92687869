// Memory for each node of the graph that a walk is at, zeroed when it comes to another graph. An op
// reads and writes the same bytes in every run of its graph, unless index data decides: what
// follows from them is worked out once and kept here.
#pragma once

#include "analyze/walk/walk.h"

struct ggs_per_node { // all zero is fine; free(memory) ends it
    uint8_t * memory;
    uint64_t  capacity;
    uint64_t  graph; // that it is about
};

// The `size` bytes of the op that the walk is at; NULL when out of memory.
void * ggs_per_node(struct ggs_per_node * nodes, const struct ggs_walk * walk, size_t size);

// A member of what is kept.
struct ggs_node_known {
    bool     is_known; // false: not met yet, or index data decides
    uint64_t absorbed; // with so many nodes computed together with it
};

static inline bool ggs_node_is_known(const struct ggs_node_known * known, const struct ggs_walk * walk) {
    return known->is_known && known->absorbed == walk->op.absorbed;
}
// The accesses of the op, as ggs_walk_accesses; it is known from then on, unless index data
// decides.
int ggs_node_learn(struct ggs_node_known * known, struct ggs_walk * walk, const struct ggs_access_list ** out,
                   struct ggs_error * error);
