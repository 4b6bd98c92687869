// Fills slots while the disk is idle, with experts that were chosen often in this or earlier runs.
#include <stdlib.h>

#include "stream/core.h"
#include "stream/weights/expert-slots.h"

enum { AT_A_TIME = 2 }; // experts

static bool has_empty_slot(struct ggs_expert_group * g) {
    if (g->slots == NULL || g->full) return false;
    for (uint32_t i = 0; i < g->n_slots - g->n_given; i++) {
        if (g->slots[i].expert < 0) return true;
    }
    g->full = true;
    return false;
}

// Returns the likeliest expert that is not in memory; the first of equal ones. -1: none.
static int32_t likeliest(const struct ggs_expert_group * g) {
    int32_t best = -1;
    for (uint32_t e = 0; e < g->n_experts; e++) {
        if (g->slot_of[e] < 0 && (best < 0 || g->score[e] > g->score[best])) best = (int32_t) e;
    }
    return best;
}

void ggs_fill_idle(struct ggs_stream * s) {
    size_t n = s->weights.n_groups;
    if (s->state != GGS_STREAM_ON || s->draining || s->reading > s->filling) return;
    for (size_t i = 0; i < n && s->filling < AT_A_TIME * GGS_GROUP_WEIGHTS; i++) {
        struct ggs_expert_group * g      = s->weights.groups[s->fill_at++ % n];
        int32_t                   expert = has_empty_slot(g) ? likeliest(g) : -1;
        if (expert >= 0) ggs_expert_slots_read_early(s, g, &expert, 1, GGS_READ_IDLE, false);
    }
}
