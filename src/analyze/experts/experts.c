#include "analyze/experts/experts.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/experts/experts-tokens.h"
#include "analyze/walk/walk.h"
#include "base/array.h"
#include "base/error.h"
#include "gguf/gguf-name.h"

enum { MOST_EXPERTS = 4096, MOST_PAIRED = 1024 }; // plausible maximum; maximum for counting pairs

// ---- layers ----

static int new_layer(struct ggs_experts * experts, int number, uint64_t n, struct ggs_error * error) {
    struct ggs_experts_layer fresh = {.layer = number, .experts = n};
    if (!ggs_array_push(experts->layers, experts->n_layers, experts->capacity, fresh)) return ggs_fail_memory(error);
    struct ggs_experts_layer * layer = &experts->layers[experts->n_layers - 1];
    layer->counts                    = calloc(n, sizeof(*layer->counts));
    layer->last_seen                 = malloc(n * sizeof(*layer->last_seen));
    if (n <= MOST_PAIRED) layer->pairs = calloc(n * n, sizeof(*layer->pairs));
    if (layer->counts == NULL || layer->last_seen == NULL || (n <= MOST_PAIRED && layer->pairs == NULL))
        return ggs_fail_memory(error);
    for (uint64_t i = 0; i < n; i++) layer->last_seen[i] = -1;
    return 0;
}

// Returns the index of a layer, or a negative status. A layer's number of experts is constant.
static int64_t layer_index(struct ggs_experts * experts, int number, uint64_t n, struct ggs_error * error) {
    for (uint64_t i = 0; i < experts->n_layers; i++) {
        if (experts->layers[i].layer == number)
            return experts->layers[i].experts == n
                       ? (int64_t) i
                       : ggs_fail(error, GGS_UNSUPPORTED, "layer %d has two different numbers of experts", number);
    }
    int status = new_layer(experts, number, n, error);
    return status < 0 ? status : (int64_t) experts->n_layers - 1;
}

static void add_time(struct ggs_experts_time * time, uint64_t ns) {
    if (time->n == 0 || ns < time->least_ns) time->least_ns = ns;
    if (ns > time->most_ns) time->most_ns = ns;
    time->n++;
    time->sum_ns += ns;
}

// ---- ops ----

struct pass {
    struct ggs_experts *       experts;
    struct ggs_trace *         trace;
    struct ggs_walk *          walk;
    struct ggs_expert_tokens * tokens;
    int64_t *                  ends; // by node of the run: end of its computation, -1 for not yet
    uint64_t                   capacity;
    uint64_t                   schedule;
    int64_t                    step;
    bool                       open; // a batch is being collected
};

// Returns when the router's choice was known: the end of the op that computes the ids, or their
// view source (a sort of all experts, of which the first are used). -1 if this run did not compute
// it.
static int64_t router_end(const struct pass * pass, const struct ggs_tensor * ids) {
    const struct ggs_graph * graph = pass->walk->graph;
    uint64_t                 root  = ggs_trace_root(pass->trace, ids)->tensor;
    for (uint64_t i = pass->walk->op.node; i-- > 0;) {
        if (graph->nodes[i].tensor == root) return pass->ends[i];
    }
    return -1;
}

static struct ggs_experts_matrix * matrix_of(struct ggs_experts * experts, const struct ggs_name * name) {
    for (unsigned i = 0; i < experts->n_matrices; i++) {
        struct ggs_experts_matrix * m = &experts->matrices[i];
        if ((size_t) m->component_length == name->component_length &&
            memcmp(m->component, name->component, name->component_length) == 0)
            return m;
    }
    if (experts->n_matrices == GGS_EXPERTS_MATRICES) return NULL;
    struct ggs_experts_matrix * m = &experts->matrices[experts->n_matrices++];
    m->component                  = name->component;
    m->component_length           = (int) name->component_length;
    return m;
}

static void add_prefetch(struct pass * pass, struct ggs_experts_layer * layer, const struct ggs_tensor * weights,
                         const struct ggs_tensor * ids, uint64_t bytes, bool first) {
    const char *                text   = ggs_reader_string(pass->trace->reader, weights->name);
    struct ggs_name             name   = ggs_name_parse(text, strlen(text));
    struct ggs_experts_matrix * matrix = matrix_of(pass->experts, &name);
    int64_t                     known = router_end(pass, ids), begin = pass->walk->op.begin_ns;
    if (matrix != NULL) matrix->bytes += bytes;
    if (known < 0 || begin < known) return;
    if (matrix != NULL) add_time(&matrix->prefetch, (uint64_t) (begin - known));
    if (first) add_time(&layer->prefetch, (uint64_t) (begin - known));
}

static uint64_t bytes_read(const struct ggs_access_list * list, uint64_t slot) {
    for (unsigned i = 0; i < list->n; i++) {
        if (list->access[i].slot == slot) return list->access[i].bytes;
    }
    return 0;
}

static int add_op(struct pass * pass, struct ggs_error * error) {
    const struct ggs_access_list * list;
    const struct ggs_walk *        walk = pass->walk;
    const struct ggs_tensor * weights = ggs_trace_tensor(pass->trace, ggs_trace_source(walk->graph, walk->op.node, 0));
    const struct ggs_tensor * ids     = ggs_trace_tensor(pass->trace, ggs_trace_source(walk->graph, walk->op.node, 2));
    if (weights == NULL || ids == NULL) return 0;
    int status = ggs_walk_accesses(pass->walk, &list, error);
    if (status < 0) return status;
    const struct ggs_access_index * index = ggs_access_values(list, ids->tensor);
    uint64_t                        n     = weights->ne[2] > 0 ? (uint64_t) weights->ne[2] : 0;
    pass->experts->any                    = true;
    if (index == NULL || n == 0 || n > MOST_EXPERTS || index->n == 0 || index->ne[0] > GGS_EXPERT_CHOICE) {
        pass->experts->unknown++;
        return 0;
    }
    int     number = pass->trace->layers[weights->tensor - 1];
    int64_t at     = layer_index(pass->experts, number < 0 ? pass->walk->op.layer : number, n, error);
    if (at < 0) return (int) at;
    bool first = true;
    status =
        ggs_expert_tokens_add(pass->tokens, (uint64_t) at, ids->tensor, index->values, index->ne[0], index->ne[1],
                              ggs_trace_row_bytes(pass->trace, weights) * (uint64_t) weights->ne[1], &first, error);
    if (status == 0) add_prefetch(pass, &pass->experts->layers[at], weights, ids, bytes_read(list, 0), first);
    return status;
}

static int begin_run(struct pass * pass, struct ggs_error * error) {
    const struct ggs_walk * walk = pass->walk;
    uint64_t                n    = walk->graph->n_nodes;
    if (!ggs_array_reserve(pass->ends, pass->capacity, n)) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < n; i++) pass->ends[i] = -1;
    // A scheduler splits a graph into runs; together they are one batch of tokens.
    bool same   = pass->open && walk->run.schedule != 0 && walk->run.schedule == pass->schedule;
    int  status = 0;
    if (!same && pass->open) status = ggs_expert_tokens_flush(pass->tokens, pass->experts, error);
    if (status == 0 && (!pass->open || walk->run.step != pass->step))
        status = ggs_expert_tokens_step(pass->tokens, pass->trace, walk->run.step, error);
    pass->open     = true;
    pass->schedule = walk->run.schedule;
    pass->step     = walk->run.step;
    return status;
}

static int add_runs(struct pass * pass, struct ggs_error * error) {
    int status = 0;
    while ((status = ggs_walk_run(pass->walk, error)) > 0) {
        if (pass->walk->graph == NULL) continue;
        status = begin_run(pass, error);
        while (status >= 0 && ggs_walk_op(pass->walk)) {
            const struct ggs_op_seen * op = &pass->walk->op;
            pass->ends[op->node]          = op->end_ns;
            if (ggs_trace_op_kind(pass->trace, op->op) == GGS_KIND_MUL_MAT_ID) status = add_op(pass, error);
        }
        if (status < 0) return status;
    }
    if (status == 0 && pass->open) status = ggs_expert_tokens_flush(pass->tokens, pass->experts, error);
    return status;
}

// ---- interface ----

// Looks for an expert op in any graph, to avoid walking a long recording of a dense model.
static int find_any(struct ggs_experts * experts, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_node     node;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_NODES, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &node, error)) > 0 && !experts->any)
        experts->any = ggs_trace_op_kind(trace, node.op) == GGS_KIND_MUL_MAT_ID;
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int by_layer(const void * a, const void * b) {
    const struct ggs_experts_layer *x = a, *y = b;
    return x->layer < y->layer ? -1 : x->layer > y->layer;
}

static void add_pair(struct ggs_experts * experts, struct ggs_experts_pair pair) {
    unsigned at = experts->n_pairs;
    while (at > 0 && experts->pairs[at - 1].times < pair.times) at--;
    if (at == GGS_EXPERTS_PAIRS) return;
    unsigned last = experts->n_pairs < GGS_EXPERTS_PAIRS ? experts->n_pairs++ : GGS_EXPERTS_PAIRS - 1;
    memmove(&experts->pairs[at + 1], &experts->pairs[at], (last - at) * sizeof(experts->pairs[0]));
    experts->pairs[at] = pair;
}

static void sum_up(struct ggs_experts * experts) {
    if (experts->n_layers > 0) qsort(experts->layers, experts->n_layers, sizeof(*experts->layers), by_layer);
    for (uint64_t i = 0; i < experts->n_layers; i++) {
        struct ggs_experts_layer * layer = &experts->layers[i];
        for (uint64_t a = 0; a < layer->experts; a++) {
            layer->distinct += layer->counts[a] > 0;
            if (layer->counts[a] > layer->most) layer->most = layer->counts[a];
            for (uint64_t b = a + 1; layer->pairs != NULL && b < layer->experts; b++) {
                uint64_t times = layer->pairs[a * layer->experts + b];
                if (times < 2) continue;
                double expected = (double) layer->counts[a] * (double) layer->counts[b] / (double) layer->tokens;
                add_pair(experts, (struct ggs_experts_pair){layer->layer, (uint32_t) a, (uint32_t) b, times, expected});
            }
        }
        free(layer->pairs);
        free(layer->last_seen);
        layer->pairs     = NULL;
        layer->last_seen = NULL;
    }
}

int ggs_experts_compute(struct ggs_experts * experts, struct ggs_trace * trace,
                        const struct ggs_experts_options * options, struct ggs_error * error) {
    struct pass pass = {.experts = experts, .trace = trace};
    *experts         = (struct ggs_experts){0};
    int status       = ggs_trace_check_steps(trace, options->first_token, options->last_token, error);
    if (status == 0) status = find_any(experts, trace, error);
    if (status < 0 || !experts->any) return status;
    status = ggs_expert_tokens_new(&pass.tokens, experts, options->window, error);
    if (status == 0) status = ggs_walk_open(&pass.walk, trace, options->first_token, options->last_token, error);
    if (status == 0) status = add_runs(&pass, error);
    ggs_walk_close(pass.walk);
    ggs_expert_tokens_free(pass.tokens);
    free(pass.ends);
    if (status < 0) {
        ggs_experts_release(experts);
        return status;
    }
    while (experts->n_sets > 0 && experts->sets[experts->n_sets - 1].samples == 0) experts->n_sets--;
    sum_up(experts);
    return 0;
}

void ggs_experts_release(struct ggs_experts * experts) {
    for (uint64_t i = 0; i < experts->n_layers; i++) {
        free(experts->layers[i].counts);
        free(experts->layers[i].last_seen);
        free(experts->layers[i].pairs);
    }
    free(experts->layers);
    *experts = (struct ggs_experts){0};
}

// ---- all layers together ----

static void sum_time(struct ggs_experts_time * sum, const struct ggs_experts_time * time) {
    if (time->n == 0) return;
    if (sum->n == 0 || time->least_ns < sum->least_ns) sum->least_ns = time->least_ns;
    if (time->most_ns > sum->most_ns) sum->most_ns = time->most_ns;
    sum->n += time->n;
    sum->sum_ns += time->sum_ns;
}

struct ggs_experts_sums ggs_experts_sum(const struct ggs_experts * experts) {
    struct ggs_experts_sums s = {0};
    for (uint64_t i = 0; i < experts->n_layers; i++) {
        const struct ggs_experts_layer * l = &experts->layers[i];
        s.experts += l->experts;
        s.bytes += l->experts * l->bytes;
        s.distinct += l->distinct;
        s.distinct_bytes += l->distinct * l->bytes;
        s.activations += l->activations;
        s.follows += l->follows;
        s.chosen += l->chosen;
        s.reused += l->reused;
        s.all_predicted += l->all_predicted;
        s.none_predicted += l->none_predicted;
        s.chance += (double) l->used / (double) l->experts * (double) l->chosen;
        if (l->used > s.used) s.used = l->used;
        sum_time(&s.prefetch, &l->prefetch);
    }
    if (s.chosen > 0) s.chance /= (double) s.chosen;
    return s;
}

double ggs_experts_imbalance(const struct ggs_experts_layer * layer) {
    return layer->activations == 0 ? 0 : (double) layer->most * (double) layer->experts / (double) layer->activations;
}

uint64_t ggs_experts_mean(const struct ggs_experts_time * time) {
    return time->n == 0 ? 0 : time->sum_ns / time->n;
}
