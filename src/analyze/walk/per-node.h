// Memory for each node of a walk's current graph, zeroed with each new graph. An op touches the
// same bytes in every run of its graph, unless index data decides: what follows from them is
// computed once and kept here.
#pragma once

#include "analyze/walk/walk.h"

struct ggs_per_node { // zeroed is valid; free(memory) ends it
    uint8_t * memory;
    uint64_t  capacity;
    uint64_t  graph; // the current graph
};

// Returns the `size` bytes of the walk's current op; NULL if out of memory.
void * ggs_per_node(struct ggs_per_node * nodes, const struct ggs_walk * walk, size_t size);

// A member of the data kept per node.
struct ggs_node_known {
    bool     is_known; // false: not seen yet, or index data decides
    uint64_t absorbed; // number of nodes fused with it
};

static inline bool ggs_node_is_known(const struct ggs_node_known * known, const struct ggs_walk * walk) {
    return known->is_known && known->absorbed == walk->op.absorbed;
}
// Reads the accesses of the op, like ggs_walk_accesses. It is known from then on, unless index data
// decides.
int ggs_node_learn(struct ggs_node_known * known, struct ggs_walk * walk, const struct ggs_access_list ** out,
                   struct ggs_error * error);
