#include "answer/answer.h"

#include <string.h>

#include "analyze/walk/words.h"
#include "answer/ops/operand.h"
#include "gguf/gguf-name.h"

void ggs_graph_write_begin(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_run * runs, uint64_t n) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_run, run, "run"),
                                              GGS_FIELD(struct ggs_run, graph, "graph"),
                                              GGS_FIELD(struct ggs_run, begin_ns, "begin_ns"),
                                              GGS_FIELD(struct ggs_run, end_ns, "end_ns"),
                                              GGS_FIELD(struct ggs_run, nodes, "nodes"),
                                              GGS_FIELD(struct ggs_run, executed, "executed"),
                                              GGS_FIELD(struct ggs_run, absorbed, "absorbed"),
                                              GGS_FIELD(struct ggs_run, empty, "empty"),
                                              GGS_FIELD(struct ggs_run, skipped, "skipped"),
                                              GGS_FIELD(struct ggs_run, opaque, "opaque"),
                                              GGS_FIELD(struct ggs_run, unseen, "unseen"),
                                              GGS_FIELD(struct ggs_run, cut, "cut"),
                                              {0}};
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    ggs_json_natural(json, "token", n == 0 ? -1 : runs[0].step);
    ggs_json_string(json, "phase", n == 0 ? NULL : ggs_word_phase(runs[0].phase));
    ggs_json_array(json, "runs");
    for (uint64_t i = 0; i < n; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_fields_members(json, fields, &runs[i]);
        ggs_json_string(json, "backend", ggs_reader_string(trace->reader, runs[i].backend));
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_array(json, "graphs");
}

void ggs_graph_write_end(struct ggs_json * json) {
    ggs_json_end(json);
    ggs_json_end(json);
}

// Of a tensor that is computed, or comes from outside.
static void put_tensor(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_tensor * tensor,
                       int layer) {
    const char *    name = tensor == NULL ? "" : ggs_reader_string(trace->reader, tensor->name);
    struct ggs_name what = ggs_name_parse(name, strlen(name));
    ggs_json_natural(json, "tensor", tensor == NULL ? -1 : (int64_t) tensor->tensor);
    ggs_json_string(json, "name", name);
    ggs_json_natural(json, "layer", layer);
    ggs_json_string(json, "category", ggs_category_name(what.category));
    ggs_answer_type(json, trace, tensor);
    ggs_answer_place(json, tensor, 0);
}

static void put_nodes(struct ggs_json * json, const struct ggs_graph_view * view) {
    ggs_json_array(json, "nodes");
    for (uint64_t i = 0; i < view->graph->n_nodes; i++) {
        const struct ggs_node_view * node     = &view->nodes[i];
        bool                         executed = node->state == GGS_NODE_EXECUTED;
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "node", i);
        ggs_json_string(json, "op", ggs_trace_op_name(&view->trace, view->graph->nodes[i].op));
        put_tensor(json, &view->trace, ggs_trace_tensor(&view->trace, view->graph->nodes[i].tensor), node->layer);
        ggs_json_string(json, "state", ggs_node_states[node->state]);
        ggs_json_natural(json, "fused_with", node->state == GGS_NODE_ABSORBED ? (int64_t) node->head - 1 : -1);
        ggs_json_natural(json, "begin_ns", executed ? node->begin_ns : -1);
        ggs_json_natural(json, "duration_ns", executed ? (int64_t) node->duration_ns : -1);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static const char * leaf_kind(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    uint64_t file, offset;
    if (ggs_trace_origin(tensor, &file, &offset)) return "weight";
    if (tensor->buffer == 0 || tensor->buffer > trace->n_buffers) return "input";
    uint64_t class_ = trace->buffers[tensor->buffer - 1].class_;
    return class_ == GGS_CLASS_KV ? "kv" : class_ == GGS_CLASS_WEIGHTS ? "weight" : "input";
}

static void put_leaves(struct ggs_json * json, const struct ggs_graph_view * view) {
    const struct ggs_trace * trace = &view->trace;
    ggs_json_array(json, "leaves");
    for (uint64_t i = 0; i < view->n_leaves; i++) {
        const struct ggs_tensor * tensor = &trace->tensors[view->leaves[i] - 1];
        uint64_t                  bytes  = ggs_trace_row_bytes(trace, tensor);
        for (int k = 1; k < 4; k++) bytes *= tensor->ne[k] > 0 ? (uint64_t) tensor->ne[k] : 0;
        ggs_json_object_inline(json, NULL);
        put_tensor(json, trace, tensor, trace->layers[tensor->tensor - 1]);
        ggs_json_string(json, "kind", leaf_kind(trace, tensor));
        ggs_json_u64(json, "bytes", bytes);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

// Either source_node or, for what comes from outside, its place in leaves.
static void put_edges(struct ggs_json * json, const struct ggs_graph_view * view) {
    ggs_json_array(json, "edges");
    for (uint64_t e = 0; e < view->graph->n_edges; e++) {
        uint64_t tensor = view->graph->edges[e].tensor;
        bool     known  = tensor > 0 && tensor <= view->trace.n_tensors;
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "node", view->graph->edges[e].node);
        ggs_json_u64(json, "slot", view->graph->edges[e].slot);
        ggs_json_u64(json, "tensor", tensor);
        ggs_json_natural(json, "source_node", (int64_t) view->from[e] - 1);
        ggs_json_natural(json, "leaf", view->from[e] != 0 || !known ? -1 : (int64_t) view->leaf_of[tensor - 1] - 1);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

void ggs_graph_write(struct ggs_json * json, const struct ggs_graph_view * view) {
    ggs_json_object(json, NULL);
    ggs_json_u64(json, "graph", view->run.graph);
    ggs_json_u64(json, "run", view->run.run);
    ggs_json_u64(json, "runs", view->runs);
    ggs_json_string(json, "backend", ggs_reader_string(view->trace.reader, view->run.backend));
    put_nodes(json, view);
    put_leaves(json, view);
    put_edges(json, view);
    ggs_json_end(json);
}
