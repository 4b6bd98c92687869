#include "stream/weights/weights.h"

#include <stdlib.h>

#include "base/array.h"

// Other places may have the same key.
static struct ggs_map_key key_of(const struct ggs_stream_file * file, uint64_t offset, uint64_t bytes) {
    return (struct ggs_map_key){offset, bytes << 16 ^ (uint64_t) file};
}

struct ggs_weight * ggs_weight_table_at(struct ggs_weight_table * all, const struct ggs_stream_file * file,
                                        uint64_t offset, uint64_t bytes) {
    uint64_t            number = ggs_map_get(&all->by_place, key_of(file, offset, bytes));
    struct ggs_weight * w      = number == 0 ? NULL : all->weights[number - 1];
    if (w != NULL) return w->file == file && w->bytes == bytes ? w : NULL;
    w                = calloc(1, sizeof(*w));
    uint64_t * place = w == NULL ? NULL : ggs_map_put(&all->by_place, key_of(file, offset, bytes));
    if (place == NULL || !ggs_array_push(all->weights, all->n, all->capacity, w)) {
        if (place != NULL) ggs_map_remove(&all->by_place, key_of(file, offset, bytes));
        free(w);
        return NULL;
    }
    *place    = all->n;
    w->file   = file;
    w->offset = offset;
    w->bytes  = bytes;
    w->number = (uint32_t) all->n - 1;
    return w;
}

static void free_group(struct ggs_expert_group * g) {
    if (g == NULL) return;
    free(g->slot_of);
    free(g->score);
    free(g->chosen);
    free(g->slots);
    free(g);
}

struct ggs_expert_group * ggs_weight_table_add_group(struct ggs_weight_table * all, uint32_t n_experts, uint32_t n_used,
                                                     int layer, uint64_t n_inputs) {
    struct ggs_expert_group * g = calloc(1, sizeof(*g));
    if (g == NULL) return NULL;
    g->n_experts = n_experts;
    g->n_used    = n_used;
    g->weight    = 1;
    g->layer     = layer;
    g->n_inputs  = n_inputs;
    g->number    = (uint32_t) all->n_groups;
    g->slot_of   = malloc(n_experts * sizeof(*g->slot_of));
    g->score     = calloc(n_experts, sizeof(*g->score));
    g->chosen    = calloc(n_experts, sizeof(*g->chosen));
    if (g->slot_of == NULL || g->score == NULL || g->chosen == NULL ||
        !ggs_array_push(all->groups, all->n_groups, all->groups_capacity, g)) {
        free_group(g);
        return NULL;
    }
    for (uint32_t e = 0; e < n_experts; e++) g->slot_of[e] = -1;
    return g;
}

bool ggs_expert_group_add(struct ggs_expert_group * g, struct ggs_weight * w) {
    if (g->n_weights == GGS_GROUP_WEIGHTS) return false;
    w->group                   = g;
    w->in_group                = g->n_weights;
    w->expert_bytes            = w->bytes / g->n_experts;
    g->weights[g->n_weights++] = w;
    return true;
}

struct ggs_expert_group * ggs_weight_table_group_after(const struct ggs_weight_table * all,
                                                       const struct ggs_expert_group * g) {
    struct ggs_expert_group * next = g->number + 1 < all->n_groups ? all->groups[g->number + 1] : NULL;
    return next != NULL && g->layer >= 0 && next->layer == g->layer + 1 && next->n_inputs == g->n_inputs ? next : NULL;
}

static uint64_t bytes_from(const struct ggs_weight_table * all, size_t first) {
    uint64_t bytes = 0;
    for (size_t i = first; i < all->n; i++) bytes += all->weights[i]->bytes;
    return bytes;
}

uint64_t ggs_weight_table_undivided(const struct ggs_weight_table * all) {
    return bytes_from(all, all->n_divided);
}

uint64_t ggs_weight_table_total(const struct ggs_weight_table * all) {
    return bytes_from(all, 0);
}

void ggs_weight_table_release(struct ggs_weight_table * all) {
    for (size_t i = 0; i < all->n; i++) {
        free(all->weights[i]->arrivals);
        free(all->weights[i]);
    }
    for (size_t i = 0; i < all->n_groups; i++) free_group(all->groups[i]);
    free(all->weights);
    free(all->groups);
    ggs_map_release(&all->by_place);
    *all = (struct ggs_weight_table){0};
}
