#include "analyze/experts/choices.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

static void clear(struct ggs_choices * choices) {
    for (uint64_t i = 0; i < choices->n; i++) {
        free(choices->choice[i].weights);
        free(choices->choice[i].probabilities);
    }
    choices->n = 0;
}

void ggs_choices_release(struct ggs_choices * choices) {
    clear(choices);
    free(choices->choice);
    ggs_access_release(&choices->index);
    *choices = (struct ggs_choices){0};
}

static uint64_t root_of(const struct ggs_trace * trace, uint64_t tensor) {
    const struct ggs_tensor * t = ggs_trace_tensor(trace, tensor);
    return t == NULL ? 0 : ggs_trace_root(trace, t)->tensor;
}

// ---- the choices ----

static struct ggs_choice * find(const struct ggs_choices * choices, uint64_t ids) {
    for (uint64_t i = choices->n; ids != 0 && i-- > 0;) { // the latest is the likeliest
        if (choices->choice[i].ids == ids) return &choices->choice[i];
    }
    return NULL;
}

static int find_choices(struct ggs_choices * choices, const struct ggs_walk * walk, struct ggs_error * error) {
    const struct ggs_graph * graph  = walk->graph;
    int                      status = 0;
    for (uint64_t n = 0; status == 0 && n < graph->n_nodes; n++) {
        if (ggs_trace_op_kind(walk->trace, graph->nodes[n].op) != GGS_KIND_MUL_MAT_ID) continue;
        uint64_t                        ids    = ggs_trace_source(graph, n, 2);
        const struct ggs_access_index * values = ids == 0 ? NULL : ggs_access_values(&choices->index, ids);
        if (values == NULL || find(choices, ids) != NULL) continue;
        if (values->ne[0] == 0 || values->n != values->ne[0] * values->ne[1]) continue;
        struct ggs_choice choice = {.node    = n,
                                    .ids     = ids,
                                    .layer   = ggs_trace_node_layer(walk->trace, graph, n),
                                    .used    = values->ne[0],
                                    .tokens  = values->ne[1],
                                    .experts = values->values};
        if (!ggs_array_push(choices->choice, choices->n, choices->capacity, choice)) status = ggs_fail_memory(error);
    }
    return status;
}

const struct ggs_choice * ggs_choice_of_node(const struct ggs_choices * choices, const struct ggs_trace * trace,
                                             const struct ggs_graph * graph, uint64_t node) {
    if (ggs_trace_op_kind(trace, graph->nodes[node].op) != GGS_KIND_MUL_MAT_ID) return NULL;
    return find(choices, ggs_trace_source(graph, node, 2));
}

// ---- weights and probabilities ----

// Index data is stored as integers; 32-bit floats as their bits.
static int keep_floats(float ** where, const struct ggs_access_index * index, struct ggs_error * error) {
    *where = malloc((index->n + 1) * sizeof(**where));
    if (*where == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < index->n; i++) {
        uint32_t bits = (uint32_t) index->values[i];
        memcpy(&(*where)[i], &bits, sizeof(bits));
    }
    return 0;
}

static bool holds_floats(const struct ggs_trace * trace, const struct ggs_access_index * index) {
    const struct ggs_tensor * t = ggs_trace_tensor(trace, index->tensor);
    return t != NULL && t->type == 0 && index->width == 4; // GGML_TYPE_F32 is 0 in every release
}

// True for rows of the router's result, selected by the choice's ids.
static bool is_probability(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t root,
                           const struct ggs_choice * choice) {
    for (uint64_t n = 0; n < choice->node; n++) {
        if (graph->nodes[n].tensor != root) continue;
        return ggs_trace_op_kind(trace, graph->nodes[n].op) == GGS_KIND_GET_ROWS &&
               root_of(trace, ggs_trace_source(graph, n, 1)) == root_of(trace, choice->ids);
    }
    return false;
}

static int find_probabilities(struct ggs_choices * choices, const struct ggs_walk * walk, struct ggs_error * error) {
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < choices->index.n_index; i++) {
        const struct ggs_access_index * index = &choices->index.index[i];
        if (!holds_floats(walk->trace, index)) continue;
        uint64_t root = root_of(walk->trace, index->tensor);
        for (uint64_t k = 0; status == 0 && k < choices->n; k++) {
            struct ggs_choice * choice = &choices->choice[k];
            if (choice->probabilities != NULL || choice->used * choice->tokens != index->n) continue;
            if (!is_probability(walk->trace, walk->graph, root, choice)) continue;
            status = keep_floats(&choice->probabilities, index, error);
            break;
        }
    }
    return status;
}

// Returns the choice that a MUL node weights: that of its layer, else the nearest.
static struct ggs_choice * weighed_by(struct ggs_choices * choices, int layer, uint64_t node, const int64_t ne[4]) {
    struct ggs_choice * nearest = NULL;
    for (uint64_t i = 0; i < choices->n; i++) {
        struct ggs_choice * choice = &choices->choice[i];
        if (ne[0] != 1 || ne[1] != (int64_t) choice->used || ne[2] != (int64_t) choice->tokens || ne[3] != 1) continue;
        if (layer >= 0 && choice->layer == layer) return choice;
        if (layer < 0 && (nearest == NULL || choice->node < node)) nearest = choice;
    }
    return nearest;
}

static int find_weights(struct ggs_choices * choices, const struct ggs_walk * walk, struct ggs_error * error) {
    const struct ggs_graph * graph  = walk->graph;
    int                      status = 0;
    for (uint64_t n = 0; status == 0 && n < graph->n_nodes; n++) {
        if (strcmp(ggs_trace_op_name(walk->trace, graph->nodes[n].op), "MUL") != 0) continue;
        for (uint64_t slot = 0; status == 0 && slot < 2; slot++) {
            const struct ggs_tensor *       t = ggs_trace_tensor(walk->trace, ggs_trace_source(graph, n, slot));
            const struct ggs_access_index * index =
                t == NULL || t->ne[0] != 1 ? NULL : ggs_access_values(&choices->index, t->tensor);
            if (index == NULL || !holds_floats(walk->trace, index)) continue;
            struct ggs_choice * choice = weighed_by(choices, ggs_trace_node_layer(walk->trace, graph, n), n, t->ne);
            if (choice == NULL || choice->weights != NULL || index->n != choice->used * choice->tokens) continue;
            status = keep_floats(&choice->weights, index, error);
        }
    }
    return status;
}

int ggs_choices_of(struct ggs_choices * choices, struct ggs_walk * walk, struct ggs_error * error) {
    clear(choices);
    if (walk->graph == NULL) return 0;
    int status = ggs_access_begin_run(&choices->index, walk->trace, &walk->run, walk->graph, error);
    if (status == 0) status = find_choices(choices, walk, error);
    if (status == 0 && choices->n > 0) status = find_probabilities(choices, walk, error);
    if (status == 0 && choices->n > 0) status = find_weights(choices, walk, error);
    return status;
}
