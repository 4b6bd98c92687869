// Tables of graphs, nodes and edges.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "export/tables/tables.h"

// Calls `visit` for each graph with its base resolved.
static int each_graph(const struct ggs_sink * sink,
                      int (*visit)(const struct ggs_sink * sink, const struct ggs_graph * graph, void * state,
                                   struct ggs_error * error),
                      void * state, struct ggs_error * error) {
    struct ggs_cursor *  cursor = NULL;
    struct ggs_graph_row row;
    int                  status = ggs_cursor_open(&cursor, sink->export->trace.reader, GGS_TABLE_GRAPHS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        const struct ggs_graph * graph;
        status = ggs_trace_graph(&sink->export->trace, row.graph, &graph, error);
        if (status == 0) status = visit(sink, graph, state, error);
    }
    ggs_cursor_close(cursor);
    return status;
}

#define GRAPH(member) GGS_MEMBER(0, struct ggs_graph, member)
static const struct ggs_table_field graphs[] = {
    {"graph", GGS_CELL_INTEGER, GRAPH(row.graph), "graph, from 1"},
    {"base", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_graph, row.base),
     "the graph that it differs from only in addresses"},
    {"nodes", GGS_CELL_INTEGER, GRAPH(n_nodes), "rows of nodes"},
    {"edges", GGS_CELL_INTEGER, GRAPH(n_edges), "rows of edges"},
    {"begin_ns", GGS_CELL_INTEGER, GRAPH(row.begin_ns), "when it was first seen"},
    {"hash", GGS_CELL_TEXT, {.from = GGS_FROM_CHARS, .part = 1}, "of its topology, hexadecimal"},
};

static int row_of_graph(const struct ggs_sink * sink, const struct ggs_graph * graph, void * state,
                        struct ggs_error * error) {
    char hash[20];
    (void) state;
    snprintf(hash, sizeof(hash), "%016" PRIx64, graph->row.hash);
    return ggs_sink_put(sink, (const void *[]){graph, hash}, error);
}

static int produce_graphs(const struct ggs_sink * sink, struct ggs_error * error) {
    return each_graph(sink, row_of_graph, NULL, error);
}

const struct ggs_flat_table ggs_table_graphs = {
    .name        = "graphs",
    .description = "One row per distinct graph.",
    .keys        = 1,
    GGS_FIELDS(graphs),
    .produce = produce_graphs,
    .foreign = {{"base", "graphs", "graph"}},
};

// ---- nodes ----

struct node_row {
    uint64_t     graph, node, tensor, flags;
    const char * op;
    const char * name;
    int          layer;
    const char * category;
    char         parameters[132];
};

// Writes bytes as hexadecimal digits; "" if all are 0.
static void put_hex(char * text, size_t size, const uint8_t * data, uint64_t length) {
    static const char digits[] = "0123456789abcdef";
    bool              any      = false;
    size_t            n        = 0;
    for (uint64_t i = 0; data != NULL && i < length && n + 3 <= size; i++) {
        any |= data[i] != 0;
        text[n++] = digits[data[i] >> 4];
        text[n++] = digits[data[i] & 15];
    }
    text[any ? n : 0] = '\0';
}

#define NODE(member) GGS_MEMBER(0, struct node_row, member)
static const struct ggs_table_field nodes[] = {
    {"graph", GGS_CELL_INTEGER, NODE(graph), "graphs.graph"},
    {"node", GGS_CELL_INTEGER, NODE(node), "number in the graph, from 0, in the order of execution"},
    {"op", GGS_CELL_TEXT, NODE(op), "ggml's name of the operation"},
    {"name", GGS_CELL_TEXT, NODE(name), "name of the tensor that it computes"},
    {"tensor", GGS_CELL_INTEGER, NODE(tensor), "tensors.tensor of the same"},
    {"layer", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct node_row, layer), "layer"},
    {"category", GGS_CELL_TEXT, NODE(category), "input, attention, ffn, norm, output or other"},
    {"flags", GGS_CELL_INTEGER, NODE(flags), "ggml's: 1 input, 2 output, 4 parameter, 8 loss, 16 compute"},
    {"parameters", GGS_CELL_TEXT, GGS_MEMBER_OR_NONE(0, struct node_row, parameters),
     "ggml's op_params: 16 numbers of 32 bits, hexadecimal, little endian; null if all are 0"},
};

static int rows_of_nodes(const struct ggs_sink * sink, const struct ggs_graph * graph, void * state,
                         struct ggs_error * error) {
    struct ggs_export * export = sink->export;
    int status                 = 0;
    (void) state;
    for (uint64_t n = 0; status >= 0 && n < graph->n_nodes; n++) {
        const struct ggs_node * node   = &graph->nodes[n];
        uint64_t                length = 0;
        const void *            bytes  = ggs_reader_bytes(export->trace.reader, node->parameters, &length);
        struct node_row         row    = {.graph    = graph->row.graph,
                                          .node     = n,
                                          .tensor   = node->tensor,
                                          .flags    = node->flags,
                                          .op       = ggs_trace_op_name(&export->trace, node->op),
                                          .name     = ggs_tensor_name_of(export, node->tensor),
                                          .layer    = ggs_trace_node_layer(&export->trace, graph, n),
                                          .category = ggs_node_category(export, graph, n)};
        put_hex(row.parameters, sizeof(row.parameters), bytes, length);
        status = ggs_sink_put(sink, (const void *[]){&row}, error);
    }
    return status;
}

static int produce_nodes(const struct ggs_sink * sink, struct ggs_error * error) {
    return each_graph(sink, rows_of_nodes, NULL, error);
}

const struct ggs_flat_table ggs_table_nodes = {
    .name        = "nodes",
    .description = "One row per node of a graph.",
    .keys        = 2,
    GGS_FIELDS(nodes),
    .produce = produce_nodes,
    .foreign = {{"graph", "graphs", NULL}, {"tensor", "tensors", NULL}},
};

// ---- edges ----

struct edge_row {
    struct ggs_edge edge;
    int64_t         source_node;
};

#define EDGE(member) GGS_MEMBER(0, struct edge_row, edge.member)
static const struct ggs_table_field edges[] = {
    {"graph", GGS_CELL_INTEGER, GGS_MEMBER(1, struct ggs_graph, row.graph), "graphs.graph"},
    {"node", GGS_CELL_INTEGER, EDGE(node), "the node that reads"},
    {"slot", GGS_CELL_INTEGER, EDGE(slot), "which of its sources, from 0"},
    {"tensor", GGS_CELL_INTEGER, EDGE(tensor), "what it reads: tensors.tensor"},
    {"source_node", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct edge_row, source_node),
     "the node that computes it; null for weights and inputs"},
};

static int rows_of_edges(const struct ggs_sink * sink, const struct ggs_graph * graph, void * state,
                         struct ggs_error * error) {
    const struct ggs_trace * trace  = &sink->export->trace;
    uint32_t *               maker  = state; // by tensor: the node that computes it + 1
    uint64_t                 most   = trace->n_tensors;
    int                      status = 0;
    uint64_t                 made   = 0;
    for (uint64_t e = 0; status >= 0 && e < graph->n_edges; e++) {
        struct edge_row row = {.edge = graph->edges[e]};
        ggs_trace_make(trace, graph, maker, &made, row.edge.node);
        row.source_node = row.edge.tensor <= most ? (int64_t) maker[row.edge.tensor] - 1 : -1;
        status          = ggs_sink_put(sink, (const void *[]){&row, graph}, error);
    }
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        if (graph->nodes[n].tensor <= most) maker[graph->nodes[n].tensor] = 0;
    }
    return status;
}

static int produce_edges(const struct ggs_sink * sink, struct ggs_error * error) {
    uint32_t * maker = calloc(sink->export->trace.n_tensors + 1, sizeof(*maker));
    if (maker == NULL) return ggs_fail_memory(error);
    int status = each_graph(sink, rows_of_edges, maker, error);
    free(maker);
    return status;
}

const struct ggs_flat_table ggs_table_edges = {
    .name        = "edges",
    .description = "One row per source of a node.",
    .keys        = 3,
    GGS_FIELDS(edges),
    .produce = produce_edges,
    .foreign = {{"graph, node", "nodes", NULL},
                {"graph, source_node", "nodes", "graph, node"},
                {"tensor", "tensors", NULL}},
};
