#include "capture/values/leafs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "capture/values/dump.h"
#include "capture/values/read.h"
#include "capture/values/values.h"
#include "capture/values/weights.h"

enum { FLAG_INPUT = 1 };

// ---- copied weights ----

static pthread_mutex_t                lock = PTHREAD_MUTEX_INITIALIZER;
static struct ggs_map                 known; // weights -> 1, or index in `copies` + 2 if no graph has used it
static struct ggs_values_leaf_rows ** copies;
static uint64_t                       n_copies, copies_capacity;
enum { WRITTEN = 1, FIRST_COPY = 2 };

// Another model may have a tensor at the same address.
static struct ggs_map_key key_of(const struct abi_tensor * t) {
    uint64_t name = 0xcbf29ce484222325u;
    for (size_t i = 0; i < ABI_NAME && t->name[i] != '\0'; i++) name = (name ^ (uint8_t) t->name[i]) * 0x100000001b3u;
    return (struct ggs_map_key){(uint64_t) (uintptr_t) t, name ^ (uint64_t) (uintptr_t) t->data};
}

void ggs_values_weight_set(const struct abi_tensor * tensor, const void * data, size_t offset, size_t size) {
    static const char * const unreadable[] = {"CPU", "AMX"}; // prefixes of buffer types
    if (offset != 0 || tensor->view_src != NULL || tensor->buffer == NULL || !ggs_values_is_weight(tensor) ||
        ggs_engine.buffer_is_host(tensor->buffer))
        return;
    void *       type = ggs_engine.buffer_type(tensor->buffer);
    const char * name = type == NULL ? "" : ggs_engine.buffer_type_name(type);
    bool         ours = false;
    for (size_t i = 0; i < sizeof(unreadable) / sizeof(unreadable[0]); i++)
        ours |= strncmp(name, unreadable[i], strlen(unreadable[i])) == 0;
    if (!ours || size != ggs_values_bytes(tensor)) return;
    struct abi_tensor given            = *tensor;
    given.data                         = (void *) data;
    struct ggs_values_leaf_rows * rows = ggs_values_weight_in_file(&given, data);
    if (rows == NULL && !ggs_values_no_weights) rows = ggs_values_weight_sum(&given);
    if (rows == NULL) return;
    pthread_mutex_lock(&lock);
    uint64_t * place =
        ggs_array_reserve(copies, copies_capacity, n_copies + 1) ? ggs_map_put(&known, key_of(tensor)) : NULL;
    if (place != NULL) {
        copies[n_copies] = rows;
        *place           = FIRST_COPY + n_copies++;
    } else {
        free(rows);
    }
    pthread_mutex_unlock(&lock);
}

// ---- graphs ----

// Returns true if the weight must be written; `rows`: the sums of its copy, which the caller frees.
static bool claim_weight(const struct abi_tensor * t, struct ggs_values_leaf_rows ** rows) {
    pthread_mutex_lock(&lock);
    uint64_t * place = ggs_map_put(&known, key_of(t));
    bool       fresh = place != NULL && *place != WRITTEN;
    *rows            = NULL;
    if (fresh && *place >= FIRST_COPY) {
        *rows                       = copies[*place - FIRST_COPY];
        copies[*place - FIRST_COPY] = NULL;
    }
    if (fresh) *place = WRITTEN;
    pthread_mutex_unlock(&lock);
    return fresh;
}

static bool is_elsewhere(const struct abi_tensor * t) {
    return t->buffer != NULL && !ggs_engine.buffer_is_host(t->buffer);
}

static struct ggs_values_leaf_rows * read_leaf(struct ggs_values_run * run, const struct abi_tensor * t,
                                               ggs_values_fetch fetch) {
    struct abi_tensor copy;
    if (fetch != NULL) return fetch(run, t, &copy) ? ggs_values_weight_sum(&copy) : NULL;
    return is_elsewhere(t) ? NULL : ggs_values_weight_sum(t);
}

static bool write_in_file(struct ggs_slot * slot, const struct ggs_values_leaf * leaf,
                          const struct ggs_values_leaf_rows * rows) {
    struct ggs_spool_weight unit = {.type     = GGS_UNIT_WEIGHT,
                                    .source   = (uint8_t) (leaf->source + 1),
                                    .node     = leaf->node,
                                    .bytes    = rows->in_file,
                                    .elements = rows->elements,
                                    .rows     = rows->n_rows,
                                    .format   = rows->type};
    struct ggs_spool_values head;
    memcpy(&head, &unit, sizeof(head));
    return ggs_slot_payload(slot, &head, rows->rows);
}

static void write_leaf(struct ggs_slot * slot, const struct ggs_values_leaf * leaf,
                       struct ggs_values_leaf_rows * rows) {
    if (rows != NULL && rows->in_file > 0) {
        if (!write_in_file(slot, leaf, rows)) slot->lost++;
    } else if (rows != NULL && !ggs_slot_values(slot, leaf->node, (unsigned) leaf->source + 1, leaf->input,
                                                rows->elements, rows->rows, rows->n_rows)) {
        slot->lost++;
    }
    free(rows);
}

void ggs_values_leafs(struct ggs_slot * slot, struct ggs_values_run * run, const struct abi_graph * graph,
                      ggs_values_fetch fetch) {
    struct ggs_values_plan * plan    = run->plan;
    bool                     weights = __atomic_exchange_n(&plan->weighed, true, __ATOMIC_RELAXED) == false;
    for (uint32_t i = 0; i < plan->n_leafs; i++) {
        const struct ggs_values_leaf * leaf = &plan->leafs[i];
        const struct abi_tensor *      t    = graph->nodes[leaf->node]->src[leaf->source];
        struct ggs_values_leaf_rows *  rows = NULL;
        if (t == NULL || (!leaf->input && (!weights || !claim_weight(t, &rows)))) continue;
        bool here = fetch == NULL && !is_elsewhere(t);
        if (!leaf->input && here && rows == NULL) rows = ggs_values_weight_in_file(t, t->data);
        if (rows == NULL && !leaf->input && ggs_values_no_weights) continue;
        if (rows == NULL && !leaf->input && here && ggs_values_weights_leave(&run->weights, leaf, t)) continue;
        write_leaf(slot, leaf, rows != NULL ? rows : read_leaf(run, t, fetch));
    }
}

static void write_weight(void * slot, const struct ggs_values_leaf * leaf, struct ggs_values_leaf_rows * rows) {
    write_leaf(slot, leaf, rows);
}

void ggs_values_leafs_end(struct ggs_slot * slot, struct ggs_values_run * run) {
    ggs_values_weights_end(&run->weights, slot, write_weight);
}

// ---- leafs of a graph ----

// A scheduler's copy of an input for a backend has a name such as "Vulkan0#inp_pos#0".
static bool is_input(const struct abi_tensor * t) {
    const char * hash = strchr(t->name, '#');
    return (t->flags & FLAG_INPUT) != 0 || (hash != NULL && strchr(hash + 1, '#') != NULL);
}

static bool has_leaf(const struct ggs_values_plan * plan, const struct abi_graph * graph, const struct abi_tensor * t) {
    for (uint32_t i = 0; i < plan->n_leafs; i++)
        if (graph->nodes[plan->leafs[i].node]->src[plan->leafs[i].source] == t) return true;
    return false;
}

void ggs_values_plan_leafs(struct ggs_values_plan * plan, const struct abi_graph * graph) {
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < plan->n_nodes; i++) {
        if (plan->node[i].empty || plan->node[i].kind == GGS_VALUES_NONE) continue;
        for (unsigned s = 0; s < ABI_SOURCES; s++) {
            const struct abi_tensor * t = graph->nodes[i]->src[s];
            if (t == NULL || t->view_src != NULL || t->src[0] != NULL) continue;
            bool                   weight = ggs_values_is_weight(t);
            struct ggs_values_leaf leaf   = {.node = i, .source = (uint8_t) s, .input = !weight};
            if ((!weight && !is_input(t)) || !ggs_values_can_read(t->type) || has_leaf(plan, graph, t)) continue;
            if (!ggs_array_push(plan->leafs, plan->n_leafs, capacity, leaf)) return;
        }
    }
}
