#include "stream/weights/shrink.h"

#include "stream/core.h"

enum { APART = 5, AT_ONCE = 16 << 20 };

static bool can_give_slot(const struct ggs_expert_group * g, uint32_t slot) {
    if (g->slots[slot].expert >= 0 && g->slots[slot].used >= g->clock) return false; // it is or may be in use
    for (uint32_t k = 0; k < g->n_weights; k++) {
        if (ggs_arrival_is_reading(&g->weights[k]->arrivals[slot])) return false;
    }
    return true;
}

// Slots are given back from the end, so that whole huge pages become free; `least` of them stay.
static uint64_t give_slots_of(struct ggs_stream * s, struct ggs_expert_group * g, uint32_t least, uint64_t bytes) {
    uint64_t gave = 0;
    while (gave < bytes && g->n_slots - g->n_given > least) {
        uint32_t                 i    = g->n_slots - g->n_given - 1;
        struct ggs_expert_slot * slot = &g->slots[i];
        if (!can_give_slot(g, i)) return gave;
        if (slot->expert >= 0) g->slot_of[slot->expert] = -1;
        slot->expert = -1;
        g->n_given++;
        for (uint32_t k = 0; k < g->n_weights; k++) {
            struct ggs_weight * w = g->weights[k];
            ggs_arrival_clear(&w->arrivals[i]);
            gave += s->world.memory->let_go(s->world.memory, w->window + i * w->stride, w->stride);
        }
    }
    return gave;
}

static uint64_t give_experts(struct ggs_stream * s, bool half, uint64_t bytes) {
    uint64_t gave = 0;
    for (size_t i = 0; i < s->weights.n_groups && gave < bytes; i++) {
        struct ggs_expert_group * g =
            s->weights.groups[s->give_at++ % s->weights.n_groups]; // rotates through the groups
        uint32_t least = g->n_used + 1;
        if (half && least < g->n_slots / 2) least = g->n_slots / 2;
        if (g->slots != NULL) gave += give_slots_of(s, g, least, bytes - gave);
    }
    return gave;
}

// Spreads the released weights over the graph, so that the rest stays evenly spread.
static uint64_t give_kept(struct ggs_stream * s, uint64_t bytes) {
    uint64_t gave = 0;
    for (size_t from = 0; from < APART; from++) {
        for (size_t i = from; i < s->weights.n && gave < bytes; i += APART) {
            struct ggs_weight * w = s->weights.weights[i];
            if (w->where != GGS_WEIGHT_KEPT || w->in_use || w->is_router || ggs_arrival_is_reading(&w->arrival))
                continue;
            w->where = ggs_weight_ring_holds(s, w) ? GGS_WEIGHT_STREAMED : GGS_WEIGHT_MAPPED;
            ggs_arrival_clear(&w->arrival);
            gave += s->world.memory->let_go(s->world.memory, w->kept, ggs_weight_room(w));
        }
    }
    return gave;
}

static uint64_t give_some(struct ggs_stream * s, uint64_t bytes) {
    uint64_t gave = give_experts(s, true, bytes);
    if (gave < bytes) gave += give_kept(s, bytes - gave);
    if (gave < bytes) gave += give_experts(s, false, bytes - gave);
    return gave;
}

uint64_t ggs_stream_shrink(struct ggs_stream * s, uint64_t bytes) {
    uint64_t gave = 0, some;
    do {
        some = give_some(s, bytes - gave < AT_ONCE ? bytes - gave : AT_ONCE);
        gave += some;
        s->given += some;
        s->counts.bytes_given += some;
        ggs_stream_unlock(s);
        ggs_stream_lock(s);
    } while (some > 0 && gave < bytes);
    return gave;
}

uint64_t ggs_stream_promised(const struct ggs_stream * s, uint64_t empty) {
    uint64_t gone = s->given + ggs_spares_away(s);
    return empty < gone ? 0 : empty - gone;
}
