#include "answer/answer.h"

#include <string.h>

#include "analyze/walk/words.h"
#include "answer/ops/operand.h"
#include "gguf/gguf-name.h"

// ---- runs ----

#define RUN(member, ...) GGS_FIELD(struct ggs_run, member, #member, __VA_ARGS__)

static const struct ggs_field run_fields[] = {
    RUN(run),
    RUN(graph, "graphs.graph"),
    RUN(begin_ns),
    RUN(end_ns),
    RUN(nodes, "sum of the next seven"),
    RUN(executed),
    RUN(absorbed, "computed together with the node before"),
    RUN(empty, "views and the like"),
    RUN(skipped, "not computed, by the engine's choice"),
    RUN(opaque, "on a backend that is seen as a whole"),
    RUN(unseen, "seen by no hook"),
    RUN(cut, "not reached when the run was interrupted"),
    GGS_FIELD_NUMBER(struct ggs_run, backend, "backend"),
    {0},
};
static const struct ggs_object run_ = {.fields = run_fields};

// ---- computed tensors and inputs ----

struct tensor_row {
    struct ggs_tensor_at at;
    int                  layer;
};

static const char * tensor_name(const struct ggs_trace * trace, const struct tensor_row * row) {
    return row->at.tensor == NULL ? "" : ggs_reader_string(trace->reader, row->at.tensor->name);
}

static const char * category_of(const void * at, const void * trace, char * room, size_t * length) {
    const char * name = tensor_name(trace, at);
    (void) room, (void) length;
    return ggs_category_name(ggs_name_parse(name, strlen(name)).category);
}

GGS_GET(int64_t, tensor_of, struct tensor_row, it->at.tensor == NULL ? -1 : (int64_t) it->at.tensor->tensor)
GGS_GET_TEXT(name_of, struct tensor_row, tensor_name(trace, it))

static const struct ggs_field tensor_fields[] = {
    GGS_NATURAL("tensor", tensor_of, "tensors.tensor"),
    GGS_TEXT("name", name_of, ""),
    GGS_FIELD_OR_NULL(struct tensor_row, layer, "layer"),
    GGS_TEXT("category", category_of, "", .word = ggs_category_name),
    GGS_MEMBERS(struct tensor_row, at, &ggs_type_object),
    GGS_MEMBERS(struct tensor_row, at, &ggs_place_object),
    {0},
};
static const struct ggs_object tensor_ = {.name = "GraphTensor", .fields = tensor_fields};

// ---- nodes ----

struct node_row {
    const struct ggs_graph_view * view;
    const struct ggs_node_view *  node;
    uint64_t                      number;
    struct tensor_row             tensor;
};

GGS_NEXT(next_node) {
    const struct ggs_graph_view * view = at;
    if (*i == view->graph->n_nodes) return NULL;
    const struct ggs_tensor * tensor = ggs_trace_tensor(&view->trace, view->graph->nodes[*i].tensor);
    *(struct node_row *) room = (struct node_row){view, &view->nodes[*i], *i, {{tensor, 0}, view->nodes[*i].layer}};
    ++*i;
    return room;
}

#define NODE(get, expression) GGS_GET(int64_t, get, struct node_row, expression)
NODE(fused_of, it->node->state == GGS_NODE_ABSORBED ? (int64_t) it->node->head - 1 : -1)
NODE(begin_of, it->node->state == GGS_NODE_EXECUTED ? it->node->begin_ns : -1)
NODE(duration_of, it->node->state == GGS_NODE_EXECUTED ? (int64_t) it->node->duration_ns : -1)
GGS_GET_TEXT(op_of, struct node_row, ggs_trace_op_name(trace, it->view->graph->nodes[it->number].op))
GGS_GET_TEXT(state_of, struct node_row, ggs_node_state_name(it->node->state))

static const struct ggs_field node_fields[] = {
    GGS_FIELD(struct node_row, number, "node"),
    GGS_TEXT("op", op_of, ""),
    GGS_MEMBERS(struct node_row, tensor, &tensor_),
    GGS_TEXT("state", state_of, "what became of it", .word = ggs_node_state_name),
    GGS_NATURAL("fused_with", fused_of, "absorbed: node that it was computed together with"),
    GGS_NATURAL("begin_ns", begin_of, "begin, for executed nodes"),
    GGS_NATURAL("duration_ns", duration_of, "duration in all runs, for executed nodes"),
    {0},
};
static const struct ggs_object node_ = {.name = "GraphNode", .fields = node_fields};

// ---- leaves ----

static const char * leaf_kind(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    uint64_t file, offset;
    if (ggs_trace_origin(tensor, &file, &offset)) return "weight";
    if (tensor->buffer == 0 || tensor->buffer > trace->n_buffers) return "input";
    uint64_t class_ = trace->buffers[tensor->buffer - 1].class_;
    return class_ == GGS_CLASS_KV ? "kv" : class_ == GGS_CLASS_WEIGHTS ? "weight" : "input";
}

static int64_t leaf_bytes(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    uint64_t bytes = ggs_trace_row_bytes(trace, tensor);
    for (int k = 1; k < 4; k++) bytes *= tensor->ne[k] > 0 ? (uint64_t) tensor->ne[k] : 0;
    return (int64_t) bytes;
}

GGS_NEXT(next_leaf) {
    const struct ggs_graph_view * view = at;
    if (*i == view->n_leaves) return NULL;
    const struct ggs_tensor * tensor = &view->trace.tensors[view->leaves[(*i)++] - 1];
    *(struct tensor_row *) room      = (struct tensor_row){{tensor, 0}, view->trace.layers[tensor->tensor - 1]};
    return room;
}

static const char * const leaf_kinds[] = {"weight", "kv", "input", NULL};
GGS_GET_TEXT(kind_of, struct tensor_row, leaf_kind(trace, it->at.tensor))
GGS_GET(int64_t, bytes_of, struct tensor_row, leaf_bytes(trace, it->at.tensor))

static const struct ggs_field leaf_fields[] = {
    GGS_MEMBERS_OF(&tensor_),
    GGS_TEXT("kind", kind_of, "", .words = leaf_kinds),
    GGS_COUNT("bytes", bytes_of, ""),
    {0},
};
static const struct ggs_object leaf_ = {.fields = leaf_fields};

// ---- edges ----

struct edge_row {
    uint64_t node, slot, tensor;
    int64_t  source_node, leaf; // one of them is -1
};

GGS_NEXT(next_edge) {
    const struct ggs_graph_view * view = at;
    if (*i == view->graph->n_edges) return NULL;
    const struct ggs_edge * edge  = &view->graph->edges[*i];
    bool                    known = edge->tensor > 0 && edge->tensor <= view->trace.n_tensors;
    bool                    leaf  = view->from[*i] == 0 && known;
    *(struct edge_row *) room = (struct edge_row){edge->node, edge->slot, edge->tensor, (int64_t) view->from[*i] - 1,
                                                  leaf ? (int64_t) view->leaf_of[edge->tensor - 1] - 1 : -1};
    ++*i;
    return room;
}

#define EDGE(member, ...) GGS_FIELD(struct edge_row, member, #member, __VA_ARGS__)

static const struct ggs_field edge_fields[] = {
    EDGE(node, "node that reads"),
    EDGE(slot),
    EDGE(tensor, "tensor that is read"),
    GGS_FIELD_OR_NULL(struct edge_row, source_node, "source_node", "node that computes it; null for leaves"),
    GGS_FIELD_OR_NULL(struct edge_row, leaf, "leaf", "place in leaves; null for what is computed"),
    {0},
};
static const struct ggs_object edge_ = {.fields = edge_fields};

// ---- graphs ----

static const struct ggs_field graph_fields[] = {
    GGS_FIELD(struct ggs_graph_view, run.graph, "graph", "graphs.graph"),
    GGS_FIELD(struct ggs_graph_view, run.run, "run", "its first run of the token step, or the one that was asked for"),
    GGS_FIELD(struct ggs_graph_view, runs, "runs", "runs of the token step that used it: times are of all of them"),
    GGS_FIELD_NUMBER(struct ggs_graph_view, run.backend, "backend"),
    GGS_EACH("nodes", next_node, &node_),
    GGS_EACH("leaves", next_leaf, &leaf_, "what comes from outside"),
    GGS_EACH("edges", next_edge, &edge_),
    {0},
};
static const struct ggs_object graph_ = {.fields = graph_fields, .lines = true};

struct graphs {
    const struct ggs_run * runs;
    uint64_t               n;
};

GGS_GET(int64_t, token_of, struct graphs, it->n == 0 ? -1 : it->runs[0].step)
GGS_GET_TEXT(phase_of, struct graphs, ggs_word_phase(it->n == 0 ? GGS_PHASE_NONE : it->runs[0].phase))

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    GGS_NATURAL("token", token_of, ""),
    GGS_TEXT("phase", phase_of, "", .word = ggs_word_phase),
    GGS_ROWS(struct graphs, runs, n, "runs", &run_, "all graph runs of the token step"),
    GGS_STREAM("graphs", &graph_),
    {0},
};
const struct ggs_object ggs_graph_object = {
    .name = "GraphAnswer",
    .text = "The graphs of a token step. The server sends the one of the run that was asked for; the verb prints each "
            "distinct one.",
    .fields = fields,
    .lines  = true,
};

void ggs_graph_write_begin(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_run * runs, uint64_t n) {
    ggs_object_begin(json, &ggs_graph_object, &(struct graphs){runs, n}, trace);
}

void ggs_graph_write(struct ggs_json * json, const struct ggs_graph_view * view) {
    ggs_object_row(json, &ggs_graph_object, view, &view->trace);
}

void ggs_graph_write_end(struct ggs_json * json) {
    ggs_object_end(json, &ggs_graph_object, NULL, NULL);
}
