#include "capture/values/plan.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "capture/values/dump.h"
#include "capture/values/read.h"
#include "trace/values/row-summary.h"

enum { FLAG_COMPUTE = 16 };

static bool is_op(const struct abi_tensor * t, const char * name) {
    return strcmp(ggs_engine.op_name(t->op), name) == 0;
}

static bool is_empty(const struct abi_tensor * t) {
    return is_op(t, "NONE") || is_op(t, "VIEW") || is_op(t, "RESHAPE") || is_op(t, "PERMUTE") || is_op(t, "TRANSPOSE");
}

static uint64_t elements(const struct abi_tensor * t) {
    return (uint64_t) (t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
}

// A scheduler's copy of "inp_pos" for a backend is named "CPU#inp_pos#0".
static bool is_named(const struct abi_tensor * t, const char * name) {
    const char * hash   = strchr(t->name, '#');
    size_t       length = strlen(name);
    return strcmp(t->name, name) == 0 ||
           (hash != NULL && strncmp(hash + 1, name, length) == 0 && hash[1 + length] == '#');
}

static const struct abi_tensor * find_input(const struct abi_graph * graph, const char * name) {
    for (int i = 0; i < graph->n_nodes; i++)
        for (int s = 0; s < ABI_SOURCES; s++)
            if (graph->nodes[i]->src[s] != NULL && is_named(graph->nodes[i]->src[s], name))
                return graph->nodes[i]->src[s];
    return NULL;
}

// Number of tokens that the graph computes, 0 for a graph without tokens.
static uint32_t count_tokens(const struct abi_graph * graph) {
    const struct abi_tensor * tokens    = find_input(graph, "inp_tokens");
    const struct abi_tensor * positions = find_input(graph, "inp_pos");
    if (tokens != NULL) return (uint32_t) tokens->ne[0];
    const struct abi_tensor * embeddings = find_input(graph, "inp_embd");
    if (embeddings != NULL) return (uint32_t) embeddings->ne[1];
    return positions == NULL ? 0 : (uint32_t) positions->ne[0];
}

// The graph that the calling thread has scheduled.
static _Thread_local struct {
    uint32_t  tokens;
    uint32_t  n, capacity; // of positions
    int32_t * positions;
} scheduled;

// Nodes refer to a device's copy of the input, which is filled later; the graph has the input
// itself.
static void read_positions(const struct abi_graph * graph) {
    static const struct abi_tensor * (*find)(const struct abi_graph * graph, const char * name);
    static void (*get)(const struct abi_tensor * tensor, void * data, size_t offset, size_t size);
    enum { I32 = 26 };
    scheduled.n = 0;
    if (get == NULL) *(void **) &get = ggs_abi_find("ggml_backend_tensor_get");
    if (find == NULL) *(void **) &find = ggs_abi_find("ggml_graph_get_tensor");
    const struct abi_tensor * input = find == NULL ? NULL : find(graph, "inp_pos");
    if (get == NULL || input == NULL || input->type != I32 || input->data == NULL || input->buffer == NULL) return;
    uint32_t n = scheduled.tokens < input->ne[0] ? scheduled.tokens : (uint32_t) input->ne[0];
    if (!ggs_array_reserve(scheduled.positions, scheduled.capacity, n)) return;
    get(input, scheduled.positions, 0, n * sizeof(*scheduled.positions));
    scheduled.n = n;
}

void ggs_values_plan_schedule(const struct abi_graph * graph) {
    scheduled.tokens = count_tokens(graph);
    read_positions(graph);
}

const int32_t * ggs_values_plan_positions(uint32_t * n) {
    *n          = scheduled.n;
    scheduled.n = 0;
    return *n == 0 ? NULL : scheduled.positions;
}

// The dimension that counts tokens, or -1. With a cache per sequence, attention has the tokens of a
// sequence there, and sequences in the last dimension.
static int token_dimension(const struct abi_tensor * t, uint32_t n) {
    bool second = t->ne[1] == n || t->ne[1] * t->ne[3] == n, third = t->ne[2] == n || t->ne[2] * t->ne[3] == n;
    if (n <= 1 || (!second && !third)) return -1;
    // Attention scores and their results have heads after tokens; all others have them before.
    if (second && third) return is_op(t, "SOFT_MAX") || is_op(t, "MUL_MAT") ? 1 : 2;
    return second ? 1 : 2;
}

// True if the node selects the tokens whose outputs are wanted. The last layer selects from several
// tensors.
static bool selects_outputs(const struct abi_tensor * node) {
    return is_op(node, "GET_ROWS") && node->src[1] != NULL &&
           (is_named(node->src[1], "out_ids") || is_named(node->src[1], "inp_out_ids"));
}

// True if rows are only the tokens whose outputs are wanted: selected, or computed from such rows.
static bool is_output(const struct ggs_values_plan * plan, const struct abi_graph * graph, uint32_t i) {
    const struct abi_tensor * node = graph->nodes[i];
    if (selects_outputs(node)) return true;
    for (int s = 0; s < ABI_SOURCES; s++) {
        if (node->src[s] == NULL) continue;
        for (uint32_t k = i; plan->outputs_node >= 0 && k-- > (uint32_t) plan->outputs_node;)
            if (graph->nodes[k] == node->src[s]) {
                if (plan->node[k].output) return true;
                break;
            }
    }
    return false;
}

static void plan_rows(struct ggs_values_plan * plan, struct ggs_values_node * out, const struct abi_tensor * node) {
    uint32_t n = out->output ? plan->n_outputs : plan->n_tokens;
    out->dim   = (int8_t) token_dimension(node, n);
    out->rows  = out->dim < 0 ? 1 : n;
    // One token is one row, whatever the shape.
    out->tokens = out->dim >= 0 || n == 1;
    out->kind   = GGS_VALUES_ROWS;
    if (is_op(node, "SET_ROWS")) {
        uint64_t given = node->src[0] == NULL ? 0 : elements(node->src[0]);
        out->kind = given > 0 && n > 0 && given % n == 0 && ggs_values_can_set(node) ? GGS_VALUES_SET : GGS_VALUES_NONE;
        out->rows = n;
        out->tokens   = true;
        out->elements = n == 0 ? 0 : given / n;
    } else {
        out->elements = elements(node) / out->rows;
    }
    if (!ggs_values_can_read(node->type) || out->elements == 0 || out->elements > UINT32_MAX)
        out->kind = GGS_VALUES_NONE;
}

// Functions of the program, and ops that train, may write to their sources.
static bool writes_elsewhere(const struct abi_tensor * node) {
    const char * op = ggs_engine.op_name(node->op);
    return strstr(op, "CUSTOM") != NULL || strncmp(op, "MAP_", 4) == 0 || strncmp(op, "OPT_", 4) == 0;
}

static bool matches(const struct abi_tensor * node, const regex_t * pattern) {
    char name[ABI_NAME + 64];
    snprintf(name, sizeof(name), "%s:%.*s", ggs_engine.op_name(node->op), ABI_NAME, node->name);
    return regexec(pattern, name, 0, NULL, 0) == 0;
}

// Marks the sources that `user` needs. A reshaped source stands for its origin; a view has only a
// part and stands for itself.
static void plan_uses(struct ggs_values_plan * plan, const struct abi_graph * graph, uint32_t user) {
    for (int s = 0; s < ABI_SOURCES; s++) {
        const struct abi_tensor * source = graph->nodes[user]->src[s];
        for (uint32_t k = user; source != NULL && k-- > 0;) {
            if (graph->nodes[k] != source) continue;
            if (user > plan->node[k].last_use) plan->node[k].last_use = user;
            source = is_empty(source) && !is_op(source, "VIEW") ? source->src[0] : NULL;
        }
    }
}

static void plan_node(struct ggs_values_plan * plan, struct ggs_values_node * out, const struct abi_tensor * node,
                      const struct ggs_values_asked * asked) {
    out->view = is_op(node, "VIEW");
    if (out->empty && !out->view) return;
    plan_rows(plan, out, node);
    out->dump = !out->empty && asked->dumps && matches(node, &asked->dump);
    if (asked->some && !out->dump && !matches(node, &asked->pattern)) out->kind = GGS_VALUES_NONE;
    if (out->kind == GGS_VALUES_NONE || out->view) return;
    uint64_t pieces = (out->elements + GGS_VALUES_PIECE - 1) / GGS_VALUES_PIECE;
    if (out->rows > plan->most_rows) plan->most_rows = out->rows;
    if (pieces > plan->most_pieces) plan->most_pieces = (uint32_t) pieces;
}

static void plan_nodes(struct ggs_values_plan * plan, const struct abi_graph * graph,
                       const struct ggs_values_asked * asked) {
    bool has_flag = false; // releases without the compute flag never set it
    for (uint32_t i = 0; i < plan->n_nodes; i++) has_flag |= (graph->nodes[i]->flags & FLAG_COMPUTE) != 0;
    for (uint32_t i = 0; i < plan->n_nodes; i++) {
        const struct abi_tensor * node = graph->nodes[i];
        struct ggs_values_node *  out  = &plan->node[i];
        out->output                    = is_output(plan, graph, i);
        // Without tokens whose outputs are wanted, the last nodes have no elements.
        out->empty = is_empty(node) || elements(node) == 0 || (has_flag && (node->flags & FLAG_COMPUTE) == 0);
        out->bytes = writes_elsewhere(node) ? 0 : ggs_values_bytes(node);
        plan_node(plan, out, node, asked);
        plan_uses(plan, graph, i);
    }
    for (uint32_t i = plan->n_nodes, next = UINT32_MAX; i-- > 0;) {
        plan->node[i].next = next;
        if (!plan->node[i].empty) next = i;
    }
}

static void find_outputs(struct ggs_values_plan * plan, const struct abi_graph * graph) {
    plan->outputs_node = -1;
    for (uint32_t i = 0; i < plan->n_nodes && plan->outputs_node < 0; i++) {
        if (!selects_outputs(graph->nodes[i])) continue;
        plan->outputs_node = (int32_t) i;
        plan->n_outputs    = (uint32_t) graph->nodes[i]->src[1]->ne[0];
    }
}

static struct ggs_values_plan * make(const struct abi_graph * graph, const struct ggs_captured_graph * base,
                                     const struct ggs_values_asked * asked) {
    struct ggs_values_plan * plan = calloc(1, sizeof(*plan) + (size_t) graph->n_nodes * sizeof(struct ggs_values_node));
    if (plan == NULL) return NULL;
    plan->graph    = base;
    plan->n_nodes  = (uint32_t) graph->n_nodes;
    plan->n_tokens = count_tokens(graph);
    if (plan->n_tokens == 0) plan->n_tokens = scheduled.tokens;
    find_outputs(plan, graph);
    plan_nodes(plan, graph, asked);
    ggs_values_plan_leafs(plan, graph);
    return plan;
}

struct ggs_values_plan * ggs_values_plan(const struct abi_graph * graph, const struct ggs_captured_graph * known,
                                         const struct ggs_values_asked * asked) {
    static pthread_mutex_t          lock = PTHREAD_MUTEX_INITIALIZER;
    static struct ggs_values_plan * plans[256]; // by number of the base
    pthread_mutex_lock(&lock);
    struct ggs_values_plan ** bucket = &plans[known->base->id % 256];
    struct ggs_values_plan *  plan   = *bucket;
    while (plan != NULL && plan->graph != known->base) plan = plan->older;
    if (plan == NULL && (plan = make(graph, known->base, asked)) != NULL) {
        plan->older = *bucket;
        *bucket     = plan;
    }
    pthread_mutex_unlock(&lock);
    return plan;
}

const struct abi_tensor * ggs_values_plan_outputs(const struct ggs_values_plan * plan, const struct abi_graph * graph) {
    enum { I32 = 26 };
    if (plan->outputs_node < 0) return NULL;
    const struct abi_tensor * ids = graph->nodes[plan->outputs_node]->src[1];
    return ids->type == I32 && ids->data != NULL && ids->nb[0] == 4 ? ids : NULL;
}
