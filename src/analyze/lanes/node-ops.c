#include "analyze/lanes/node-ops.h"

#include <stdlib.h>

#include "base/error.h"

static int by_graph(const void * a, const void * b) {
    const struct ggs_node_ops_graph *x = a, *y = b;
    return x->graph < y->graph ? -1 : x->graph > y->graph;
}

static struct ggs_node_ops_graph * find_graph(const struct ggs_node_ops * all, uint64_t graph) {
    struct ggs_node_ops_graph key = {.graph = (uint32_t) graph};
    if (all->n_graphs == 0 || graph > UINT32_MAX) return NULL;
    return bsearch(&key, all->graphs, all->n_graphs, sizeof(key), by_graph);
}

enum { NODES_MOST = 1 << 22 }; // of one graph: larger numbers mean a damaged trace

// Graphs that differ only in addresses share their ops.
static int list_graphs(struct ggs_node_ops * all, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor *  cursor;
    struct ggs_graph_row row;
    uint64_t             rows   = ggs_reader_rows(trace->reader, GGS_TABLE_GRAPHS);
    int                  status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_GRAPHS, error);
    if (status < 0) return status;
    all->graphs = calloc(rows + 1, sizeof(*all->graphs));
    if (all->graphs == NULL) status = ggs_fail_memory(error);
    while (status >= 0 && all->n_graphs < rows && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct ggs_node_ops_graph * ops = &all->graphs[all->n_graphs];
        if (row.graph > UINT32_MAX || row.nodes > NODES_MOST) continue;
        *ops = (struct ggs_node_ops_graph){
            .graph = (uint32_t) row.graph, .n_nodes = (uint32_t) row.nodes, .owned = row.base == 0};
        if (ops->owned) ops->ops = calloc((size_t) row.nodes + 1, sizeof(*ops->ops));
        if (ops->owned && ops->ops == NULL) status = ggs_fail_memory(error);
        all->n_graphs++;
    }
    if (all->graphs != NULL && all->n_graphs > 1) qsort(all->graphs, all->n_graphs, sizeof(*all->graphs), by_graph);
    if (status >= 0) ggs_cursor_rewind(cursor);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct ggs_node_ops_graph *ops = find_graph(all, row.graph), *base = find_graph(all, row.base);
        if (ops == NULL || ops->owned || base == NULL || !base->owned) continue;
        ops->ops     = base->ops;
        ops->n_nodes = base->n_nodes;
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int read_ops(struct ggs_node_ops * all, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor *      cursor;
    const uint64_t * const * words;
    uint64_t                 rows;
    int                      status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_NODES, error);
    if (status < 0) return status;
    struct ggs_node_ops_graph * last = NULL;
    while ((status = ggs_cursor_next_chunk(cursor, &words, &rows, error)) > 0) {
        for (uint64_t i = 0; i < rows; i++) {
            uint64_t graph = words[0][i], node = words[1][i], tensor = words[2][i], op = words[3][i];
            int      layer = tensor > 0 && tensor <= trace->n_tensors ? trace->layers[tensor - 1] : -1;
            if (last == NULL || last->graph != graph) last = find_graph(all, graph);
            if (last != NULL && last->owned && node < last->n_nodes)
                last->ops[node] = (struct ggs_node_op){op < UINT16_MAX ? (uint16_t) op : UINT16_MAX,
                                                       layer > INT16_MAX ? -1 : (int16_t) layer};
        }
    }
    ggs_cursor_close(cursor);
    return status;
}

int ggs_node_ops_read(struct ggs_node_ops * ops, struct ggs_trace * trace, struct ggs_error * error) {
    *ops       = (struct ggs_node_ops){0};
    int status = list_graphs(ops, trace, error);
    return status == 0 ? read_ops(ops, trace, error) : status;
}

void ggs_node_ops_release(struct ggs_node_ops * ops) {
    for (uint64_t i = 0; i < ops->n_graphs; i++)
        if (ops->graphs[i].owned) free(ops->graphs[i].ops);
    free(ops->graphs);
    *ops = (struct ggs_node_ops){0};
}

struct ggs_node_op ggs_node_ops_get(const struct ggs_node_ops * ops, uint32_t graph, uint64_t node) {
    const struct ggs_node_ops_graph * found = find_graph(ops, graph);
    if (found == NULL || found->ops == NULL || node >= found->n_nodes) return (struct ggs_node_op){UINT16_MAX, -1};
    return found->ops[node];
}
