#include "analyze/walk/per-node.h"

#include <string.h>

#include "base/array.h"
#include "base/checked.h"

void * ggs_per_node(struct ggs_per_node * nodes, const struct ggs_walk * walk, size_t size) {
    if (nodes->graph != walk->graph->row.graph) {
        uint64_t bytes;
        if (!ggs_mul(walk->graph->n_nodes + 1, size, &bytes) ||
            !ggs_array_reserve(nodes->memory, nodes->capacity, bytes))
            return NULL;
        memset(nodes->memory, 0, bytes);
        nodes->graph = walk->graph->row.graph;
    }
    return nodes->memory + walk->op.node * size;
}

int ggs_node_learn(struct ggs_node_known * known, struct ggs_walk * walk, const struct ggs_access_list ** out,
                   struct ggs_error * error) {
    const struct ggs_op_seen * op     = &walk->op;
    int                        status = ggs_walk_accesses(walk, out, error);
    if (status < 0) return status;
    known->is_known = !ggs_trace_is_indexed(walk->trace, walk->graph, op->node, op->absorbed);
    known->absorbed = op->absorbed;
    return 0;
}
