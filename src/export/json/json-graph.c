// graphs/token-NNNNN.json: the graphs of a step.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "export/json/json-format.h"

// Ids are node_0, node_1, ... for computed tensors and leaf_0, leaf_1, ... for weights and inputs.
struct ids {
    uint32_t * node;   // by tensor: number of its node + 1
    uint32_t * leaf;   // by tensor: number of its leaf + 1
    uint64_t   leaves; // number so far
    uint64_t   most;   // number of tensors
};

static void collect(struct ids * ids, const struct ggs_graph * graph) {
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        if (graph->nodes[n].tensor <= ids->most) ids->node[graph->nodes[n].tensor] = (uint32_t) (n + 1);
    }
}

static void forget(struct ids * ids, const struct ggs_graph * graph) {
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        if (graph->nodes[n].tensor <= ids->most) ids->node[graph->nodes[n].tensor] = 0;
    }
}

static void put_shape(struct ggs_json * json, const struct ggs_tensor * t) {
    unsigned n = 4;
    while (n > 1 && t->ne[n - 1] == 1) n--;
    ggs_json_array_inline(json, "shape");
    for (unsigned i = 0; i < n; i++) ggs_json_i64(json, NULL, t->ne[i]);
    ggs_json_end(json);
}

static void put_node(struct ggs_export * export, struct ggs_json * json, const char * kind, uint64_t number,
                     const char * operation, const struct ggs_tensor * t, int layer, const char * category) {
    static const struct ggs_tensor none = {.ne = {0}};
    const char *                   name = t == NULL ? "" : ggs_tensor_name(export, t);
    if (t == NULL) t = &none;
    ggs_json_object_inline(json, NULL);
    ggs_json_id(json, "id", kind, number);
    ggs_json_address(json, "address", t->address);
    ggs_json_string(json, "label", name);
    ggs_json_string(json, "operation", operation);
    put_shape(json, t);
    ggs_json_string(json, "dtype", ggs_word_type(export, t->type));
    ggs_json_natural(json, "layer_id", layer);
    ggs_json_string(json, "category", category);
}

// True for a leaf that lies in a file of the model or was copied from one.
static bool is_weight(const struct ggs_trace * trace, uint64_t tensor) {
    uint64_t file, offset;
    return ggs_trace_origin(&trace->tensors[tensor - 1], &file, &offset) && trace->models[file - 1];
}

static void put_nodes(struct ggs_export * export, struct ggs_json * json, const struct ggs_graph * graph,
                      uint64_t first, struct ids * ids) {
    const struct ggs_trace * trace = &export->trace;
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        const struct ggs_node * node = &graph->nodes[n];
        put_node(export, json, "node_", first + n, ggs_trace_op_name(trace, node->op),
                 ggs_trace_tensor(trace, node->tensor), ggs_trace_node_layer(trace, graph, n),
                 ggs_node_category(export, graph, n));
        ggs_json_string(json, "node_type", "op");
        ggs_json_u64(json, "graph_id", graph->row.graph);
        ggs_json_end(json);
    }
    for (uint64_t e = 0; e < graph->n_edges; e++) {
        uint64_t tensor = graph->edges[e].tensor;
        if (tensor == 0 || tensor > ids->most || ids->node[tensor] != 0 || ids->leaf[tensor] != 0) continue;
        ids->leaf[tensor] = (uint32_t) ++ids->leaves;
        put_node(export, json, "leaf_", ids->leaves - 1, "NONE", &trace->tensors[tensor - 1], trace->layers[tensor - 1],
                 ggs_node_category(export, graph, graph->edges[e].node));
        ggs_json_string(json, "node_type", is_weight(trace, tensor) ? "weight" : "op");
        ggs_json_u64(json, "graph_id", graph->row.graph);
        ggs_json_end(json);
    }
}

static void put_edges(const struct ggs_trace * trace, struct ggs_json * json, const struct ggs_graph * graph,
                      uint64_t first, const struct ids * ids) {
    uint64_t made = 0;
    for (uint64_t e = 0; e < graph->n_edges; e++) {
        const struct ggs_edge * edge = &graph->edges[e];
        ggs_trace_make(trace, graph, ids->node, &made, edge->node);
        if (edge->tensor == 0 || edge->tensor > ids->most) continue;
        ggs_json_object_inline(json, NULL);
        if (ids->node[edge->tensor] != 0) {
            ggs_json_id(json, "source", "node_", first + ids->node[edge->tensor] - 1);
        } else {
            ggs_json_id(json, "source", "leaf_", ids->leaf[edge->tensor] - 1);
        }
        ggs_json_id(json, "target", "node_", first + edge->node);
        ggs_json_id(json, "label", "src ", edge->slot);
        ggs_json_end(json);
    }
}

// Counts come first and need a pass of their own: the lists are last, as in all files.
struct counts {
    uint64_t nodes, edges, leaves;
    int      layers; // highest layer + 1
};

static void count(struct ggs_export * export, const struct ggs_graph * graph, struct ids * ids,
                  struct counts * counts) {
    counts->nodes += graph->n_nodes;
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        int layer = ggs_trace_node_layer(&export->trace, graph, n);
        if (layer >= counts->layers) counts->layers = layer + 1;
    }
    for (uint64_t e = 0; e < graph->n_edges; e++) {
        uint64_t tensor = graph->edges[e].tensor;
        if (tensor == 0 || tensor > ids->most) continue;
        counts->edges++;
        if (ids->node[tensor] != 0 || ids->leaf[tensor] != 0) continue;
        ids->leaf[tensor] = 1;
        counts->leaves++;
    }
}

// One of three passes over the graphs of a step: 0 counts, 1 writes the nodes, 2 the edges.
static int pass(struct ggs_export * export, struct ggs_json * json, int which, const struct ggs_step_graph * graphs,
                uint64_t n_graphs, struct ids * ids, struct counts * counts, struct ggs_error * error) {
    int status = 0;
    if (which < 2) memset(ids->leaf, 0, (ids->most + 1) * sizeof(*ids->leaf));
    for (uint64_t i = 0; status == 0 && i < n_graphs; i++) {
        const struct ggs_graph * graph;
        status = ggs_trace_graph(&export->trace, graphs[i].graph, &graph, error);
        if (status < 0) break;
        collect(ids, graph);
        if (which == 0) count(export, graph, ids, counts);
        if (which == 1) put_nodes(export, json, graph, graphs[i].first_node, ids);
        if (which == 2) put_edges(&export->trace, json, graph, graphs[i].first_node, ids);
        forget(ids, graph);
    }
    return status;
}

static int write_graphs(struct ggs_export * export, struct ggs_json_file * file, int64_t step,
                        const struct ggs_step_graph * graphs, uint64_t n_graphs, int64_t generated_ns, struct ids * ids,
                        struct ggs_error * error) {
    struct ggs_json * json   = &file->json;
    struct counts     counts = {0};
    int               status = pass(export, NULL, 0, graphs, n_graphs, ids, &counts, error);
    ggs_json_i64(json, "token_id", step);
    ggs_json_object(json, "metadata");
    ggs_json_u64(json, "total_nodes", counts.nodes + counts.leaves);
    ggs_json_u64(json, "total_edges", counts.edges);
    ggs_json_i64(json, "layers", counts.layers);
    char generated[GGS_MOMENT_LENGTH];
    if (export->start_utc_ns >= 0) {
        ggs_moment_format(generated, export->start_utc_ns + generated_ns);
    } else {
        snprintf(generated, sizeof(generated), "%" PRId64 " ns", generated_ns);
    }
    ggs_json_string(json, "timestamp_generated", generated);
    ggs_json_u64(json, "graphs", n_graphs);
    ggs_json_u64(json, "computed", counts.nodes);
    ggs_json_u64(json, "leaves", counts.leaves);
    ggs_json_end(json);
    ggs_json_array(json, "nodes");
    if (status == 0) status = pass(export, json, 1, graphs, n_graphs, ids, &counts, error);
    ggs_json_end(json);
    ggs_json_array(json, "edges");
    if (status == 0) status = pass(export, json, 2, graphs, n_graphs, ids, &counts, error);
    ggs_json_end(json);
    return status;
}

int ggs_json_graph(struct ggs_export * export, int64_t step, const struct ggs_step_graph * graphs, uint64_t n_graphs,
                   int64_t generated_ns, struct ggs_error * error) {
    struct ggs_json_file file;
    struct ids           ids = {.most = export->trace.n_tensors};
    char                 name[48];
    snprintf(name, sizeof(name), "graphs/token-%05" PRId64 ".json", step);
    ids.node = calloc(ids.most + 1, sizeof(*ids.node));
    ids.leaf = calloc(ids.most + 1, sizeof(*ids.leaf));
    int status =
        ids.node == NULL || ids.leaf == NULL ? ggs_fail_memory(error) : ggs_json_file_open(export, &file, name, error);
    if (status == 0) {
        status = write_graphs(export, &file, step, graphs, n_graphs, generated_ns, &ids, error);
        status = ggs_json_file_close(export, &file, status, error);
    }
    free(ids.node);
    free(ids.leaf);
    return status;
}
