// The tables of graphs: graphs, nodes, edges.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "export/tables/tables.h"

static int put_row(const struct ggs_sink * sink, const struct ggs_row * row, struct ggs_error * error) {
    return sink->row(sink->context, row->cells, error);
}

// Calls `see` for each graph, with everything of its base filled in.
static int each_graph(struct ggs_export * export, const struct ggs_sink * sink,
                      int (*see)(struct ggs_export * export, const struct ggs_graph * graph,
                                 const struct ggs_sink * sink, void * state, struct ggs_error * error),
                      void * state, struct ggs_error * error) {
    struct ggs_cursor *  cursor = NULL;
    struct ggs_graph_row row;
    int                  status = ggs_cursor_open(&cursor, export->trace.reader, GGS_TABLE_GRAPHS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        const struct ggs_graph * graph;
        status = ggs_trace_graph(&export->trace, row.graph, &graph, error);
        if (status == 0) status = see(export, graph, sink, state, error);
    }
    ggs_cursor_close(cursor);
    return status;
}

static int row_of_graph(struct ggs_export * export, const struct ggs_graph * graph, const struct ggs_sink * sink,
                        void * state, struct ggs_error * error) {
    (void) export;
    (void) state;
    struct ggs_row row;
    char           hash[20];
    snprintf(hash, sizeof(hash), "%016" PRIx64, graph->row.hash);
    ggs_row_begin(&row);
    ggs_row_integer(&row, (int64_t) graph->row.graph);
    ggs_row_id(&row, graph->row.base);
    ggs_row_integer(&row, (int64_t) graph->n_nodes);
    ggs_row_integer(&row, (int64_t) graph->n_edges);
    ggs_row_integer(&row, graph->row.begin_ns);
    ggs_row_text(&row, hash);
    return put_row(sink, &row, error);
}

int ggs_rows_graphs(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    return each_graph(export, sink, row_of_graph, NULL, error);
}

// ---- nodes ----

// Bytes as hexadecimal digits; NULL where all are 0.
static const char * hex_of(char * text, size_t size, const uint8_t * data, uint64_t length) {
    static const char digits[] = "0123456789abcdef";
    bool              any      = false;
    size_t            n        = 0;
    for (uint64_t i = 0; data != NULL && i < length && n + 3 <= size; i++) {
        any |= data[i] != 0;
        text[n++] = digits[data[i] >> 4];
        text[n++] = digits[data[i] & 15];
    }
    text[n] = '\0';
    return any ? text : NULL;
}

static int rows_of_nodes(struct ggs_export * export, const struct ggs_graph * graph, const struct ggs_sink * sink,
                         void * state, struct ggs_error * error) {
    (void) state;
    struct ggs_row row;
    char           parameters[132];
    int            status = 0;
    for (uint64_t n = 0; status >= 0 && n < graph->n_nodes; n++) {
        const struct ggs_node * node   = &graph->nodes[n];
        uint64_t                length = 0;
        const void *            bytes  = ggs_reader_bytes(export->trace.reader, node->parameters, &length);
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) graph->row.graph);
        ggs_row_integer(&row, (int64_t) n);
        ggs_row_text(&row, ggs_trace_op_name(&export->trace, node->op));
        ggs_row_text(&row, ggs_tensor_name_of(export, node->tensor));
        ggs_row_integer(&row, (int64_t) node->tensor);
        ggs_row_natural(&row, ggs_trace_node_layer(&export->trace, graph, n));
        ggs_row_text(&row, ggs_node_category(export, graph, n));
        ggs_row_integer(&row, (int64_t) node->flags);
        ggs_row_text(&row, hex_of(parameters, sizeof(parameters), bytes, length));
        status = put_row(sink, &row, error);
    }
    return status;
}

int ggs_rows_nodes(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    return each_graph(export, sink, rows_of_nodes, NULL, error);
}

// ---- edges ----

static int rows_of_edges(struct ggs_export * export, const struct ggs_graph * graph, const struct ggs_sink * sink,
                         void * state, struct ggs_error * error) {
    uint32_t *     maker  = state; // by tensor: the node that computes it + 1
    uint64_t       most   = export->trace.n_tensors;
    int            status = 0;
    uint64_t       made   = 0;
    struct ggs_row row;
    for (uint64_t e = 0; status >= 0 && e < graph->n_edges; e++) {
        const struct ggs_edge * edge = &graph->edges[e];
        ggs_trace_make(&export->trace, graph, maker, &made, edge->node);
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) graph->row.graph);
        ggs_row_integer(&row, (int64_t) edge->node);
        ggs_row_integer(&row, (int64_t) edge->slot);
        ggs_row_integer(&row, (int64_t) edge->tensor);
        ggs_row_natural(&row, edge->tensor <= most ? (int64_t) maker[edge->tensor] - 1 : -1);
        status = put_row(sink, &row, error);
    }
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        if (graph->nodes[n].tensor <= most) maker[graph->nodes[n].tensor] = 0;
    }
    return status;
}

int ggs_rows_edges(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    uint32_t * maker = calloc(export->trace.n_tensors + 1, sizeof(*maker));
    if (maker == NULL) return ggs_fail_memory(error);
    int status = each_graph(export, sink, rows_of_edges, maker, error);
    free(maker);
    return status;
}
