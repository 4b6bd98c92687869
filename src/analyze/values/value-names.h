// Names of nodes that are the same in graphs of other batches, backends and releases.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_VALUE_NAME = 96 };

struct ggs_value_name {
    char text[GGS_VALUE_NAME];
};

// Names the nodes of a graph. A node without a name of its own is named after its input: "(Qcur-5)"
// is computed from Qcur-5. A node that writes into a cache is named after the cache. The caller
// frees the names; NULL when out of memory.
struct ggs_value_name * ggs_value_names(const struct ggs_trace * trace, const struct ggs_graph * graph);

// Returns the tensor of a row of op_values with flags: an input of the node that no node computes.
// 0 if the graph has none.
uint64_t ggs_value_leaf_tensor(const struct ggs_graph * graph, const struct ggs_op_value * value);

// Returns, per edge of the graph, the node + 1 that computed what the edge's node reads; 0 for
// none. Several nodes may compute the same tensor in turn. The caller frees it; NULL when out of
// memory.
uint32_t * ggs_value_makers(const struct ggs_trace * trace, const struct ggs_graph * graph);
