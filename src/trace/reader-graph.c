// A whole graph from the nodes and edges tables, completed by its base.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/reader-private.h"

void ggs_graph_free(struct ggs_graph * graph) {
    if (graph == NULL) return;
    free(graph->nodes);
    free(graph->edges);
    free(graph->first_edge);
    free(graph);
}

void ggs_graph_cursors_release(struct ggs_graph_cursors * cursors) {
    ggs_cursor_close(cursors->graphs);
    for (int i = 0; i < 4; i++) ggs_cursor_close(cursors->rows[i / 2][i % 2]);
    *cursors = (struct ggs_graph_cursors){0};
}

// Moves the cursor to the rows with that graph as key; opens it if it is NULL.
static int seek(struct ggs_cursor ** cursor, struct ggs_reader * reader, enum ggs_trace_table table, uint64_t graph,
                struct ggs_error * error) {
    int status = *cursor != NULL ? 0 : ggs_cursor_open(cursor, reader, table, error);
    if (status == 0) ggs_cursor_keys(*cursor, (int64_t) graph, (int64_t) graph);
    return status;
}

// Appends all rows of a table with that graph as key to *array of *n elements.
static int collect(struct ggs_reader * reader, struct ggs_cursor ** cursor, enum ggs_trace_table table, uint64_t graph,
                   size_t element, void ** array, uint64_t * n, struct ggs_error * error) {
    uint64_t row[GGS_COLUMNS_MAX], capacity = *n;
    int      more, status                   = seek(cursor, reader, table, graph, error);
    if (status != 0) return status;
    while ((more = ggs_cursor_next(*cursor, row, error)) > 0) {
        *array = ggs_array_grow(*array, &capacity, *n + 1, element);
        if (capacity < *n + 1) {
            more = ggs_fail_memory(error);
            break;
        }
        memcpy((char *) *array + (*n)++ * element, row, element);
    }
    return more;
}

static int by_node(const void * a, const void * b) {
    const struct ggs_node *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int by_slot(const void * a, const void * b) {
    const struct ggs_edge *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

// Replaces rows of the base, which come first and are sorted, by those of the graph.
static int overlay(void * rows, uint64_t n_base, uint64_t n, size_t element,
                   int (*compare)(const void *, const void *)) {
    for (uint64_t i = n_base; i < n; i++) {
        const void * change = (const char *) rows + i * element;
        void *       old    = n_base == 0 ? NULL : bsearch(change, rows, n_base, element, compare);
        if (old == NULL) return -1;
        memcpy(old, change, element);
    }
    return 0;
}

// Reads nodes or edges of a graph: those of its base, replaced by its own.
static int read_rows(struct ggs_reader * reader, struct ggs_cursor ** cursors, enum ggs_trace_table table,
                     const struct ggs_graph_row * graph, size_t element, int (*compare)(const void *, const void *),
                     void ** rows, uint64_t * n, struct ggs_error * error) {
    uint64_t first  = graph->base != 0 ? graph->base : graph->graph;
    int      status = collect(reader, &cursors[0], table, first, element, rows, n, error);
    if (status != 0) return status;
    if (*n > 1) qsort(*rows, *n, element, compare);
    if (graph->base == 0) return 0;
    uint64_t n_base = *n;
    status          = collect(reader, &cursors[1], table, graph->graph, element, rows, n, error);
    if (status == 0 && overlay(*rows, n_base, *n, element, compare) != 0)
        status = ggs_fail(error, GGS_FORMAT, "%s is damaged: graph %llu changes a row that graph %llu does not have",
                          reader->name, (unsigned long long) graph->graph, (unsigned long long) graph->base);
    *n = n_base;
    return status;
}

static int index_edges(struct ggs_reader * reader, struct ggs_graph * graph, struct ggs_error * error) {
    for (uint64_t i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i].node != i)
            return ggs_fail(error, GGS_FORMAT, "%s: node %llu of graph %llu is missing", reader->name,
                            (unsigned long long) i, (unsigned long long) graph->row.graph);
    graph->first_edge = calloc(graph->n_nodes + 1, sizeof(*graph->first_edge));
    if (graph->first_edge == NULL) return ggs_fail_memory(error);
    uint64_t edge = 0;
    for (uint64_t i = 0; i <= graph->n_nodes; i++) {
        while (edge < graph->n_edges && graph->edges[edge].node < i) edge++;
        graph->first_edge[i] = edge;
    }
    // Edges of nodes that do not exist come last, where no search finds them.
    graph->n_edges = edge;
    return 0;
}

static int read_graph(struct ggs_reader * reader, struct ggs_graph_cursors * cursors, uint64_t id,
                      struct ggs_graph * graph, struct ggs_error * error) {
    int status = seek(&cursors->graphs, reader, GGS_TABLE_GRAPHS, id, error);
    if (status == 0) status = ggs_cursor_next(cursors->graphs, &graph->row, error);
    if (status < 0) return status;
    if (status == 0) return ggs_fail(error, GGS_ABSENT, "%s has no graph %llu", reader->name, (unsigned long long) id);
    status = read_rows(reader, cursors->rows[0], GGS_TABLE_NODES, &graph->row, sizeof(struct ggs_node), by_node,
                       (void **) &graph->nodes, &graph->n_nodes, error);
    if (status == 0)
        status = read_rows(reader, cursors->rows[1], GGS_TABLE_EDGES, &graph->row, sizeof(struct ggs_edge), by_slot,
                           (void **) &graph->edges, &graph->n_edges, error);
    if (status == 0 && graph->n_nodes != graph->row.nodes)
        status = ggs_fail(error, GGS_FORMAT, "%s: graph %llu has %llu of its %llu nodes", reader->name,
                          (unsigned long long) id, (unsigned long long) graph->n_nodes,
                          (unsigned long long) graph->row.nodes);
    return status != 0 ? status : index_edges(reader, graph, error);
}

int ggs_reader_graph(struct ggs_reader * reader, uint64_t id, struct ggs_graph ** out, struct ggs_error * error) {
    *out                     = NULL;
    struct ggs_graph * graph = calloc(1, sizeof(*graph));
    if (graph == NULL) return ggs_fail_memory(error);
    // A second thread has cursors of its own for the moment.
    struct ggs_graph_cursors own    = {0};
    bool                     is_own = __atomic_exchange_n(&reader->graphs_busy, true, __ATOMIC_ACQUIRE);
    int                      status = read_graph(reader, is_own ? &own : &reader->graph_cursors, id, graph, error);
    if (is_own)
        ggs_graph_cursors_release(&own);
    else
        __atomic_store_n(&reader->graphs_busy, false, __ATOMIC_RELEASE);
    if (status == 0)
        *out = graph;
    else
        ggs_graph_free(graph);
    return status;
}
