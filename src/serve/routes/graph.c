// /api/x/N/graph: the compute graph of a token step, as one of its runs went through it.
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/walk.h"
#include "base/error.h"
#include "serve/routes/columns.h"
#include "serve/routes/graph-walks.h"
#include "serve/routes/routes.h"

enum kind { EXECUTED, ABSORBED, EMPTY, SKIPPED, OPAQUE, UNSEEN };
enum { COMPUTE_FLAG = 16, RUNS_MOST = 256 };

struct node {
    double   time;
    uint32_t node;
    uint16_t op;
    int16_t  layer;
    uint8_t  kind;
};

struct edge {
    uint32_t source, target;
};

struct drawing {
    struct ggs_question *    request;
    int64_t                  token; // -1: that of the run
    struct ggs_run           run;
    const struct ggs_graph * graph;
    struct ggs_graph_walks   walks;
    struct node *            nodes;
    struct edge *            edges;
    uint64_t                 n_edges;
    uint64_t *               leaves; // tensors
    uint64_t                 n_leaves;
    uint32_t *               leaf_of; // by tensor - 1: place in leaves + 1
};

static const char * name_of(const struct drawing * drawing, uint64_t tensor) {
    return ggs_request_tensor(drawing->request, ggs_trace_tensor(&drawing->request->trace, tensor));
}

// ---- which run ----

static int find_run(struct drawing * drawing, uint64_t wanted, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    int                 status = ggs_cursor_open(&cursor, drawing->request->trace.reader, GGS_TABLE_RUNS, error);
    if (status == 0 && wanted != 0)
        ggs_cursor_keys(cursor, (int64_t) wanted, (int64_t) wanted);
    else if (status == 0)
        status = ggs_cursor_steps(cursor, drawing->token, drawing->token, error);
    if (status == 0) status = ggs_cursor_next(cursor, &drawing->run, error);
    ggs_cursor_close(cursor);
    if (status == 0 && wanted != 0)
        return ggs_fail(error, GGS_ABSENT, "there is no graph run %llu", (unsigned long long) wanted);
    if (status == 0)
        return ggs_fail(error, GGS_ABSENT, "there is no graph of token step %lld", (long long) drawing->token);
    if (status > 0) drawing->token = drawing->run.step;
    return status < 0 ? status : 0;
}

// The runs of the token step, so that the others can be asked for.
static int put_runs(struct drawing * drawing, struct ggs_json * json, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&cursor, drawing->request->trace.reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    if (drawing->token >= 0)
        status = ggs_cursor_steps(cursor, drawing->token, drawing->token, error);
    else
        ggs_cursor_keys(cursor, (int64_t) drawing->run.run, (int64_t) drawing->run.run);
    ggs_json_array(json, "runs");
    for (unsigned n = 0; status >= 0 && n < RUNS_MOST && (status = ggs_cursor_next(cursor, &run, error)) > 0; n++) {
        ggs_json_object(json, NULL);
        ggs_json_u64(json, "run", run.run);
        ggs_json_u64(json, "graph", run.graph);
        ggs_json_u64(json, "nodes", run.nodes);
        ggs_json_string(json, "backend", ggs_request_string(drawing->request, run.backend));
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// ---- nodes ----

// As `ggscope graph` has it: a node whose name the engine made up goes with what it reads, but not back to an earlier layer.
static int layer_at(const struct drawing * drawing, uint64_t node) {
    const struct ggs_trace * trace  = &drawing->request->trace;
    int                      layer  = ggs_trace_node_layer(trace, drawing->graph, node);
    int                      before = node == 0 ? -1 : drawing->nodes[node - 1].layer;
    return layer < before && strncmp(name_of(drawing, drawing->graph->nodes[node].tensor), "node_", 5) == 0 ? before
                                                                                                            : layer;
}

static enum kind kind_of(const struct drawing * drawing, uint64_t node) {
    const struct ggs_trace *  trace  = &drawing->request->trace;
    const struct ggs_tensor * tensor = ggs_trace_tensor(trace, drawing->graph->nodes[node].tensor);
    if (ggs_graph_walks_is_empty(&drawing->walks, node)) return EMPTY;
    if ((drawing->run.flags & GGS_RUN_OPAQUE) != 0) return OPAQUE;
    return drawing->run.skipped > 0 && tensor != NULL && (tensor->flags & COMPUTE_FLAG) == 0 ? SKIPPED : UNSEEN;
}

static void make_nodes(struct drawing * drawing) {
    for (uint64_t i = 0; i < drawing->graph->n_nodes; i++) {
        uint64_t op       = drawing->graph->nodes[i].op;
        drawing->nodes[i] = (struct node){.node = (uint32_t) i, .op = op < UINT16_MAX ? (uint16_t) op : UINT16_MAX};
        drawing->nodes[i].layer = (int16_t) layer_at(drawing, i);
        drawing->nodes[i].kind  = (uint8_t) kind_of(drawing, i);
    }
}

static void mark(struct drawing * drawing, const struct ggs_op_seen * op) {
    uint64_t left                 = op->absorbed;
    drawing->nodes[op->node].kind = EXECUTED;
    drawing->nodes[op->node].time += (double) (op->end_ns - op->begin_ns);
    for (uint64_t i = op->node + 1; left > 0 && i < drawing->graph->n_nodes; i++) {
        if (drawing->nodes[i].kind == EMPTY) continue;
        drawing->nodes[i].kind = ABSORBED;
        left--;
    }
}

// Times of all runs of the token step that used this graph: a prompt may have been computed in several pieces.
static int mark_runs(struct drawing * drawing, struct ggs_error * error) {
    struct ggs_trace  trace = ggs_trace_borrow(&drawing->request->trace); // with a graph of its own
    struct ggs_walk * walk;
    trace.watch = &drawing->request->progress->watch;
    int status  = drawing->token >= 0 ? ggs_walk_open(&walk, &trace, drawing->token, drawing->token, error)
                                      : ggs_walk_open_runs(&walk, &trace, drawing->run.run, drawing->run.run, error);
    if (status == 0) walk->sums_only = true;
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        if (walk->run.graph != drawing->run.graph || walk->graph == NULL) continue;
        while (ggs_walk_op(walk)) mark(drawing, &walk->op);
    }
    ggs_walk_close(walk);
    ggs_trace_give_back(&trace);
    return status < 0 ? status : 0;
}

// ---- edges ----

// What comes from outside is numbered behind the nodes.
static uint32_t leaf_number(struct drawing * drawing, uint64_t tensor) {
    uint32_t * place = &drawing->leaf_of[tensor - 1];
    if (*place == 0) {
        drawing->leaves[drawing->n_leaves++] = tensor;
        *place                               = (uint32_t) drawing->n_leaves;
    }
    return (uint32_t) drawing->graph->n_nodes + *place - 1;
}

static void make_edges(struct drawing * drawing) {
    const struct ggs_graph * graph = drawing->graph;
    for (uint64_t e = 0; e < graph->n_edges; e++) {
        uint64_t tensor = graph->edges[e].tensor;
        uint32_t from   = drawing->walks.from[e];
        if (tensor == 0 || tensor > drawing->request->trace.n_tensors) continue;
        drawing->edges[drawing->n_edges++] =
            (struct edge){from != 0 ? from - 1 : leaf_number(drawing, tensor), (uint32_t) graph->edges[e].node};
    }
}

static const char * leaf_kind(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    uint64_t file, offset;
    if (ggs_trace_origin(tensor, &file, &offset)) return "weight";
    if (tensor->buffer == 0 || tensor->buffer > trace->n_buffers) return "input";
    uint64_t kind = trace->buffers[tensor->buffer - 1].class_;
    return kind == GGS_CLASS_KV ? "kv" : kind == GGS_CLASS_WEIGHTS ? "weight" : "input";
}

static void put_leaves(struct drawing * drawing, struct ggs_json * json) {
    const struct ggs_trace * trace = &drawing->request->trace;
    ggs_json_array(json, "leaves");
    for (uint64_t i = 0; i < drawing->n_leaves; i++) {
        const struct ggs_tensor * tensor = &trace->tensors[drawing->leaves[i] - 1];
        uint64_t                  bytes  = ggs_trace_row_bytes(trace, tensor);
        for (int k = 1; k < 4; k++) bytes *= tensor->ne[k] > 0 ? (uint64_t) tensor->ne[k] : 0;
        ggs_json_object(json, NULL);
        ggs_json_u64(json, "tensor", tensor->tensor);
        ggs_json_string(json, "name", ggs_request_tensor(drawing->request, tensor));
        ggs_json_string(json, "kind", leaf_kind(trace, tensor));
        ggs_json_u64(json, "bytes", bytes);
        ggs_json_i64(json, "layer", trace->layers[drawing->leaves[i] - 1]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

// ---- the answer ----

static void put_names(struct drawing * drawing, struct ggs_json * json) {
    const struct ggs_trace * trace = &drawing->request->trace;
    const struct ggs_graph * graph = drawing->graph;
    ggs_json_array(json, "ops");
    for (uint64_t i = 0; i < trace->n_ops; i++) ggs_json_string(json, NULL, trace->op_names[i]);
    ggs_json_end(json);
    ggs_json_array(json, "names");
    for (uint64_t i = 0; i < graph->n_nodes; i++) ggs_json_string(json, NULL, name_of(drawing, graph->nodes[i].tensor));
    ggs_json_end(json);
    ggs_json_array(json, "types");
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        const struct ggs_tensor * tensor = ggs_trace_tensor(trace, graph->nodes[i].tensor);
        bool                      known  = tensor != NULL && tensor->type < trace->n_types;
        ggs_json_string(json, NULL, known ? ggs_request_string(drawing->request, trace->types[tensor->type].name) : "");
    }
    ggs_json_end(json);
    ggs_json_array(json, "shapes");
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        const struct ggs_tensor * tensor = ggs_trace_tensor(trace, graph->nodes[i].tensor);
        unsigned                  n_dims = tensor == NULL ? 0 : 4;
        while (n_dims > 1 && tensor->ne[n_dims - 1] == 1) n_dims--;
        ggs_json_array(json, NULL);
        for (unsigned k = 0; k < n_dims; k++) ggs_json_i64(json, NULL, tensor->ne[k]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static int write_drawing(struct drawing * drawing, struct ggs_error * error) {
    static const struct edge no_edge;
    const struct edge *      edges   = drawing->n_edges == 0 ? &no_edge : drawing->edges;
    uint64_t                 n       = drawing->graph->n_nodes;
    struct ggs_columns *     columns = malloc(sizeof(*columns));
    if (columns == NULL) return ggs_fail_memory(error);
    ggs_columns_begin(columns, n, drawing->run.begin_ns);
    ggs_json_i64(&columns->json, "token", drawing->token);
    ggs_json_u64(&columns->json, "run", drawing->run.run);
    ggs_json_u64(&columns->json, "graph", drawing->run.graph);
    int status = put_runs(drawing, &columns->json, error);
    put_names(drawing, &columns->json);
    put_leaves(drawing, &columns->json);
    ggs_columns_add(columns, "node", GGS_CELL_U32, &drawing->nodes[0].node, sizeof(*drawing->nodes), n);
    ggs_columns_add(columns, "op", GGS_CELL_U16, &drawing->nodes[0].op, sizeof(*drawing->nodes), n);
    ggs_columns_add(columns, "layer", GGS_CELL_I16, &drawing->nodes[0].layer, sizeof(*drawing->nodes), n);
    ggs_columns_add(columns, "kind", GGS_CELL_U8, &drawing->nodes[0].kind, sizeof(*drawing->nodes), n);
    ggs_columns_add(columns, "time", GGS_CELL_F64, &drawing->nodes[0].time, sizeof(*drawing->nodes), n);
    ggs_columns_add(columns, "source", GGS_CELL_U32, &edges->source, sizeof(*edges), drawing->n_edges);
    ggs_columns_add(columns, "target", GGS_CELL_U32, &edges->target, sizeof(*edges), drawing->n_edges);
    if (status < 0)
        ggs_columns_discard(columns);
    else
        status = ggs_columns_end(columns, drawing->request->answer, error);
    free(columns);
    return status;
}

static int draw(struct drawing * drawing, struct ggs_error * error) {
    struct ggs_trace * trace  = &drawing->request->trace;
    int                status = ggs_trace_graph(trace, drawing->run.graph, &drawing->graph, error);
    if (status < 0) return status;
    drawing->nodes   = calloc(drawing->graph->n_nodes + 1, sizeof(*drawing->nodes));
    drawing->edges   = calloc(drawing->graph->n_edges + 1, sizeof(*drawing->edges));
    drawing->leaves  = calloc(drawing->graph->n_edges + 1, sizeof(*drawing->leaves));
    drawing->leaf_of = calloc(trace->n_tensors + 1, sizeof(*drawing->leaf_of));
    bool failed =
        drawing->nodes == NULL || drawing->edges == NULL || drawing->leaves == NULL || drawing->leaf_of == NULL;
    status = failed ? ggs_fail_memory(error) : ggs_graph_walks_init(&drawing->walks, trace, drawing->graph, error);
    if (status == 0) {
        make_nodes(drawing);
        make_edges(drawing);
        status = mark_runs(drawing, error);
    }
    if (status == 0) status = write_drawing(drawing, error);
    ggs_graph_walks_release(&drawing->walks);
    free(drawing->nodes);
    free(drawing->edges);
    free(drawing->leaves);
    free(drawing->leaf_of);
    return status;
}

int ggs_route_graph(struct ggs_question * request, struct ggs_error * error) {
    struct drawing drawing = {.request = request};
    uint64_t       run     = 0;
    int            status  = ggs_query_i64(&request->query, "token", 0, INT64_MAX, &drawing.token, error);
    if (status == 0) status = ggs_query_u64(&request->query, "run", 1, UINT32_MAX, &run, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = find_run(&drawing, run, error);
    if (status == 0) status = draw(&drawing, error);
    return status;
}
