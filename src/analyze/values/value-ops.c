#include "analyze/values/value-ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/op-filter.h"
#include "base/array.h"
#include "base/error.h"

void ggs_value_ops_release(struct ggs_value_ops * ops) {
    free(ops->nodes);
    free(ops->index);
    free(ops->leafs);
    ggs_map_release(&ops->by_leaf);
    ggs_map_release(&ops->by_key);
    ggs_map_release(&ops->by_name);
    ggs_map_release(&ops->by_cache);
    ggs_map_release(&ops->models);
    *ops = (struct ggs_value_ops){0};
}

static struct ggs_map_key text_key(unsigned model, const char * op, const char * name, unsigned count) {
    char   text[GGS_VALUE_NAME + 64];
    size_t length = (size_t) snprintf(text, sizeof(text), "%.40s:%s~%u %u", op, name, count, model);
    return ggs_map_key_of(text, length < sizeof(text) ? length : sizeof(text) - 1);
}

// "Vulkan0#norm-1#0" is the scheduler's copy of norm-1.
static struct ggs_map_key tensor_key(unsigned model, const char * name) {
    const char *       hash = strchr(name, '#');
    const char *       end  = hash == NULL ? NULL : strchr(hash + 1, '#');
    struct ggs_map_key key =
        end == NULL ? ggs_map_key_of(name, strlen(name)) : ggs_map_key_of(hash + 1, (size_t) (end - hash - 1));
    key.low += (model - 1) * 0x9e3779b97f4a7c15ull;
    return key;
}

// Marks the contexts that computed something.
static int mark_contexts(bool * computes, uint64_t n, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &run, error)) > 0)
        if (run.context >= 0 && (uint64_t) run.context < n) computes[run.context] = true;
    ggs_cursor_close(cursor);
    return status;
}

static int number_models(struct ggs_map * models, struct ggs_trace * trace, uint64_t n, struct ggs_error * error) {
    bool * computes = calloc(n, sizeof(*computes));
    int    status   = computes == NULL ? ggs_fail_memory(error) : mark_contexts(computes, n, trace, error);
    for (uint64_t i = 0; status == 0 && i < n; i++) {
        struct ggs_context context;
        if (!computes[i] || (status = ggs_reader_row(trace->reader, GGS_TABLE_CONTEXTS, i, &context, error)) != 0)
            continue;
        uint64_t * number = ggs_map_put(models, (struct ggs_map_key){context.model, context.process});
        if (number == NULL)
            status = ggs_fail_memory(error);
        else if (*number == 0)
            *number = models->used;
    }
    free(computes);
    return status;
}

int ggs_value_model(struct ggs_map * models, struct ggs_trace * trace, const struct ggs_run * run, unsigned * model,
                    struct ggs_error * error) {
    uint64_t           n = ggs_reader_rows(trace->reader, GGS_TABLE_CONTEXTS);
    struct ggs_context context;
    *model = 1;
    if (run->context < 0 || (uint64_t) run->context >= n) return 0;
    int status = models->used == 0 ? number_models(models, trace, n, error) : 0;
    if (status == 0)
        status = ggs_reader_row(trace->reader, GGS_TABLE_CONTEXTS, (uint64_t) run->context, &context, error);
    if (status == 0) *model = (unsigned) ggs_map_get(models, (struct ggs_map_key){context.model, context.process});
    return status;
}

static const char * type_name(const struct ggs_trace * trace, uint64_t tensor) {
    const struct ggs_tensor * t = ggs_trace_tensor(trace, tensor);
    return t == NULL || t->type >= trace->n_types ? "" : ggs_reader_string(trace->reader, trace->types[t->type].name);
}

// ---- one graph ----

struct work {
    struct ggs_value_ops *   ops;
    const struct ggs_graph * graph;
    struct ggs_value_name *  names;
    uint32_t *               makers;
};

static int64_t elements_of(const struct ggs_tensor * t) {
    return t == NULL ? 0 : t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}

// Returns index + 1, or 0 when out of memory.
static uint32_t leaf_of(struct ggs_value_ops * ops, uint64_t tensor) {
    const char *          name  = ggs_trace_tensor_name(ops->trace, tensor);
    uint64_t *            index = ggs_map_put(&ops->by_leaf, tensor_key(ops->model, name));
    struct ggs_value_leaf fresh = {.type = type_name(ops->trace, tensor), .model = ops->model};
    snprintf(fresh.name, sizeof(fresh.name), "%s", name);
    if (index == NULL || (*index == 0 && !ggs_array_push(ops->leafs, ops->n_leafs, ops->leafs_capacity, fresh)))
        return 0;
    if (*index == 0) *index = ops->n_leafs;
    return (uint32_t) *index;
}

static struct ggs_value_source source_of(const struct work * w, uint64_t edge) {
    const struct ggs_trace *  trace  = w->ops->trace;
    uint64_t                  tensor = w->graph->edges[edge].tensor;
    const struct ggs_tensor * t      = ggs_trace_tensor(trace, tensor);
    if (w->makers[edge] != 0) return (struct ggs_value_source){.op = w->ops->index[w->makers[edge] - 1] + 1};
    if (t == NULL) return (struct ggs_value_source){0};
    const char * root  = ggs_trace_tensor_name(trace, ggs_trace_root(trace, t)->tensor);
    uint64_t     cache = ggs_map_get(&w->ops->by_cache, tensor_key(w->ops->model, root));
    if (cache != 0) return (struct ggs_value_source){.op = (uint32_t) cache, .cache = true};
    uint64_t op = ggs_map_get(&w->ops->by_name, tensor_key(w->ops->model, ggs_trace_tensor_name(trace, tensor)));
    return (struct ggs_value_source){.op = (uint32_t) op, .leaf = op != 0 ? 0 : leaf_of(w->ops, tensor)};
}

static void add_sources(const struct work * w, uint64_t node, struct ggs_value_node * out) {
    const struct ggs_trace *  trace  = w->ops->trace;
    const struct ggs_graph *  graph  = w->graph;
    enum ggs_op_kind          kind   = ggs_trace_op_kind(trace, graph->nodes[node].op);
    const struct ggs_tensor * result = ggs_trace_tensor(trace, graph->nodes[node].tensor);
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        uint64_t slot = graph->edges[e].slot;
        // Destinations are not read, and of a view only the first source counts.
        if ((kind == GGS_KIND_CPY && slot == 1) || (kind == GGS_KIND_SET_ROWS && slot == 2) ||
            (kind == GGS_KIND_EMPTY && slot > 0) || out->n_sources == GGS_VALUE_SOURCES)
            continue;
        struct ggs_value_source   source = source_of(w, e);
        const struct ggs_tensor * t      = ggs_trace_tensor(trace, graph->edges[e].tensor);
        source.part                      = out->empty && elements_of(result) < elements_of(t);
        out->sources[out->n_sources++]   = source;
    }
}

// Elements of a row; 1 if there is no such tensor.
static uint64_t row_of(const struct work * w, uint64_t tensor) {
    const struct ggs_tensor * t = ggs_trace_tensor(w->ops->trace, tensor);
    return t == NULL || t->ne[0] < 1 ? 1 : (uint64_t) t->ne[0];
}

static bool is_integer(const char * type) {
    return strcmp(type, "i32") == 0 || strcmp(type, "i64") == 0 || strcmp(type, "i16") == 0 || strcmp(type, "i8") == 0;
}

static void describe(const struct work * w, const struct ggs_run * run, uint64_t node, struct ggs_value_node * out) {
    const struct ggs_trace * trace = w->ops->trace;
    enum ggs_op_kind         kind  = ggs_trace_op_kind(trace, w->graph->nodes[node].op);
    out->op                        = ggs_trace_op_name(trace, w->graph->nodes[node].op);
    out->type                      = type_name(trace, w->graph->nodes[node].tensor);
    out->input                     = type_name(trace, ggs_trace_source(w->graph, node, 0));
    out->layer                     = ggs_trace_node_layer(trace, w->graph, node);
    out->empty                     = kind == GGS_KIND_EMPTY;
    out->choice                    = is_integer(out->type);
    out->device                    = run->backend;
    out->on_device                 = ggs_trace_is_device(trace, run->device);
    out->asked                     = ggs_op_filter_fits_node(trace, w->graph, node);
    out->limit = ggs_value_limit(out->op, out->input, out->type, row_of(w, ggs_trace_source(w->graph, node, 0)),
                                 row_of(w, w->graph->nodes[node].tensor));
    memcpy(out->name, w->names[node].text, sizeof(out->name));
    add_sources(w, node, out);
    const struct ggs_tensor * t = ggs_trace_tensor(trace, w->graph->nodes[node].tensor);
    out->cache                  = (kind == GGS_KIND_SET_ROWS || kind == GGS_KIND_CPY) && t != NULL && t->view != 0;
}

// The reshaped form of a nameless op can have a name: "kqv_out-3".
static void add_alias(struct ggs_value_ops * ops, const struct ggs_value_node * view) {
    if (!view->empty || view->name[0] == '(' || view->n_sources == 0 || view->sources[0].op == 0 ||
        view->sources[0].part)
        return;
    struct ggs_value_node * of = &ops->nodes[view->sources[0].op - 1];
    if (of->name[0] == '(' && of->alias[0] == '\0') memcpy(of->alias, view->name, sizeof(of->alias));
}

static int add_node(struct work * w, const struct ggs_run * run, uint64_t node, struct ggs_error * error) {
    struct ggs_value_ops *    ops   = w->ops;
    const struct ggs_trace *  trace = ops->trace;
    const struct ggs_node *   row   = &w->graph->nodes[node];
    struct ggs_value_node     fresh = {.count = 1, .model = ops->model};
    const struct ggs_tensor * t     = ggs_trace_tensor(trace, row->tensor);
    for (uint64_t i = 0; i < node; i++)
        if (w->graph->nodes[i].op == row->op && strcmp(w->names[i].text, w->names[node].text) == 0) fresh.count++;
    uint64_t * index = ggs_map_put(
        &ops->by_key, text_key(ops->model, ggs_trace_op_name(trace, row->op), w->names[node].text, fresh.count));
    if (index == NULL) return ggs_fail_memory(error);
    if (*index == 0) {
        describe(w, run, node, &fresh);
        if (!ggs_array_push(ops->nodes, ops->n, ops->capacity, fresh)) return ggs_fail_memory(error);
        *index = ops->n;
        add_alias(ops, &fresh);
    }
    uint64_t   op    = *index;
    uint64_t * named = ggs_map_put(&ops->by_name, tensor_key(ops->model, ggs_trace_tensor_name(trace, row->tensor)));
    if (named != NULL) *named = op;
    if (named != NULL && ops->nodes[op - 1].cache) {
        named = ggs_map_put(&ops->by_cache,
                            tensor_key(ops->model, ggs_trace_tensor_name(trace, ggs_trace_root(trace, t)->tensor)));
        if (named != NULL) *named = op;
    }
    ops->index[node] = (uint32_t) (op - 1);
    return named == NULL ? ggs_fail_memory(error) : 0;
}

int ggs_value_ops_graph(struct ggs_value_ops * ops, const struct ggs_run * run, struct ggs_error * error) {
    struct work w      = {.ops = ops};
    int         status = ggs_value_model(&ops->models, ops->trace, run, &ops->model, error);
    if (status == 0) status = ggs_trace_graph(ops->trace, run->graph, &w.graph, error);
    if (status != 0 || (ops->graph == w.graph->row.graph && ops->index != NULL)) return status;
    free(ops->index);
    ops->index   = calloc(w.graph->n_nodes + 1, sizeof(*ops->index));
    ops->n_index = w.graph->n_nodes;
    ops->graph   = w.graph->row.graph;
    w.names      = ggs_value_names(ops->trace, w.graph);
    w.makers     = ggs_value_makers(ops->trace, w.graph);
    if (ops->index == NULL || w.names == NULL || w.makers == NULL) status = ggs_fail_memory(error);
    for (uint64_t i = 0; status == 0 && i < w.graph->n_nodes; i++) status = add_node(&w, run, i, error);
    if (status != 0) ops->graph = 0;
    free(w.names);
    free(w.makers);
    return status;
}

static bool is_read_at(const struct ggs_value_leaf * leaf, const struct ggs_op_value * value) {
    return leaf->run == value->run && leaf->node == value->node && leaf->source == value->flags;
}

// Returns the weight, or the copy of it, that a row belongs to. NULL when out of memory.
static struct ggs_value_leaf * copy_of(struct ggs_value_ops * ops, uint32_t index, const struct ggs_op_value * value) {
    while (ops->leafs[index - 1].weight && !is_read_at(&ops->leafs[index - 1], value)) {
        struct ggs_value_leaf fresh = {.type = ops->leafs[index - 1].type, .model = ops->model};
        if (ops->leafs[index - 1].copy == 0) {
            memcpy(fresh.name, ops->leafs[index - 1].name, sizeof(fresh.name));
            if (!ggs_array_push(ops->leafs, ops->n_leafs, ops->leafs_capacity, fresh)) return NULL;
            ops->leafs[index - 1].copy = (uint32_t) ops->n_leafs;
        }
        index = ops->leafs[index - 1].copy;
    }
    struct ggs_value_leaf * leaf = &ops->leafs[index - 1];
    leaf->weight                 = true;
    leaf->run                    = value->run;
    leaf->node                   = value->node;
    leaf->source                 = value->flags;
    return leaf;
}

int ggs_value_ops_weight(struct ggs_value_ops * ops, const struct ggs_run * run, const struct ggs_op_value * value,
                         struct ggs_error * error) {
    const struct ggs_graph * graph;
    int                      status = ggs_value_model(&ops->models, ops->trace, run, &ops->model, error);
    if (status == 0) status = ggs_trace_graph(ops->trace, run->graph, &graph, error);
    if (status != 0) return status;
    uint64_t tensor = ggs_value_leaf_tensor(graph, value);
    uint32_t index  = tensor == 0 ? 0 : leaf_of(ops, tensor);
    if (index == 0)
        return ggs_fail(error, GGS_FORMAT,
                        "the trace is damaged: op_values has a weight of graph run %llu that does not exist",
                        (unsigned long long) value->run);
    struct ggs_value_leaf * leaf   = copy_of(ops, index, value);
    uint64_t                finite = value->elements - value->nan - value->inf;
    float                   sketch[GGS_OP_VALUE_SKETCH];
    if (leaf == NULL) return ggs_fail_memory(error);
    leaf->rows++;
    leaf->elements += value->elements;
    leaf->nan += value->nan;
    leaf->inf += value->inf;
    leaf->hash = (leaf->hash ^ value->hash) * 0x9e3779b97f4a7c15ull;
    leaf->squares += value->rms * value->rms * (double) finite;
    if (value->length != sizeof(sketch)) return 0;
    memcpy(sketch, value->sketch, sizeof(sketch));
    for (unsigned i = 0; i < GGS_OP_VALUE_SKETCH; i++) leaf->sketch[i] += (double) sketch[i];
    return 0;
}

// ---- two recordings ----

const struct ggs_value_leaf * ggs_value_ops_leaf(const struct ggs_value_ops *  ops,
                                                 const struct ggs_value_leaf * other) {
    uint64_t index = ggs_map_get(&ops->by_leaf, tensor_key(other->model, other->name));
    return index == 0 || !ops->leafs[index - 1].weight ? NULL : &ops->leafs[index - 1];
}

static bool same_name(const struct ggs_value_node * a, const struct ggs_value_node * b) {
    if (strcmp(a->name, b->name) == 0) return a->name[0] != '(';
    if (a->alias[0] != '\0' && (strcmp(a->alias, b->name) == 0 || strcmp(a->alias, b->alias) == 0)) return true;
    return b->alias[0] != '\0' && strcmp(a->name, b->alias) == 0;
}

uint64_t ggs_value_ops_find(const struct ggs_value_ops * ops, const struct ggs_value_ops * others, uint64_t other) {
    const struct ggs_value_node * node = &others->nodes[other];
    return ggs_map_get(&ops->by_key, text_key(node->model, node->op, node->name, node->count));
}

uint64_t ggs_value_ops_match(const struct ggs_value_ops * ops, const struct ggs_value_ops * others, uint64_t other) {
    const struct ggs_value_node * node  = &others->nodes[other];
    uint64_t                      found = ggs_value_ops_find(ops, others, other);
    if (found != 0) return ops->nodes[found - 1].has_values ? found : 0;
    for (uint64_t i = 0; i < ops->n; i++) {
        const struct ggs_value_node * n = &ops->nodes[i];
        if (n->has_values && n->model == node->model && n->choice == node->choice && same_name(node, n) &&
            ggs_value_ops_find(others, ops, i) == 0)
            return i + 1;
    }
    return 0;
}
