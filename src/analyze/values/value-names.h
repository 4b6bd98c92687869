// Names of a graph's nodes that mean the same in other graphs: of other batches, backends and
// releases.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_VALUE_NAME = 96 };

struct ggs_value_name {
    char text[GGS_VALUE_NAME];
};

// Names the nodes of a graph. A node without a name of its own is called by what it reads:
// "(Qcur-5)" is computed from Qcur-5. A node that writes into a cache is called by the cache. The
// caller frees them; NULL when out of memory.
struct ggs_value_name * ggs_value_names(const struct ggs_trace * trace, const struct ggs_graph * graph);

// The tensor of a row of op_values that has flags: what its node reads and no node makes. 0 if the
// graph has none.
uint64_t ggs_value_leaf_tensor(const struct ggs_graph * graph, const struct ggs_op_value * value);

// Per edge of the graph: the node + 1 that made what the edge's node reads there, 0 for none. Two nodes
// may make the same tensor one after the other. The caller frees it; NULL when out of memory.
uint32_t * ggs_value_makers(const struct ggs_trace * trace, const struct ggs_graph * graph);
