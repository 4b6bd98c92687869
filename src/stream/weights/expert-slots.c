#include "stream/weights/expert-slots.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/stream-plan.h"
#include "stream/core.h"

// ---- slots ----

static bool is_idle(const struct ggs_expert_group * g, uint32_t slot) {
    for (uint32_t k = 0; k < g->n_weights; k++) {
        if (ggs_arrival_is_reading(&g->weights[k]->arrivals[slot])) return false;
    }
    return true;
}

// Cancels reads into the slot that have not begun. True if the slot is then idle.
static bool give_up_reading(struct ggs_expert_group * g, uint32_t slot) {
    for (uint32_t k = 0; k < g->n_weights; k++) ggs_arrival_cancel(&g->weights[k]->arrivals[slot]);
    return is_idle(g, slot);
}

static void forget(struct ggs_expert_group * g, uint32_t slot) {
    int32_t expert = g->slots[slot].expert;
    if (expert >= 0) g->slot_of[expert] = -1;
    g->slots[slot].expert    = -1;
    g->slots[slot].predicted = false;
    g->full                  = false;
}

// Returns the slot of the least often recently chosen expert that the current choice does not use.
// -1: none.
static int32_t find_victim(const struct ggs_expert_group * g) {
    int32_t best   = -1;
    double  lowest = DBL_MAX;
    for (uint32_t i = 0; i < g->n_slots - g->n_given; i++) {
        const struct ggs_expert_slot * slot  = &g->slots[i];
        double                         score = slot->expert < 0 ? -1 : g->score[slot->expert];
        if ((slot->expert >= 0 && slot->used >= g->clock) || score >= lowest || !is_idle(g, i)) continue;
        lowest = score;
        best   = (int32_t) i;
        if (score < 0) break;
    }
    return best;
}

// Returns a free overflow slot. -1: none, or not enough spare memory.
static int32_t find_overflow(const struct ggs_stream * s, const struct ggs_expert_group * g) {
    uint32_t end = g->n_slots + ggs_spares_slots(s, g);
    for (uint32_t i = g->n_slots; i < end; i++) {
        if (g->slots[i].expert < 0 && is_idle(g, i)) return (int32_t) i;
    }
    return -1;
}

// Frees a slot that is being read for a wrong prediction, if the read has not begun.
static bool make_free(struct ggs_expert_group * g) {
    for (uint32_t i = 0; i < g->n_slots - g->n_given; i++) {
        if (g->slots[i].expert >= 0 && g->slots[i].used >= g->clock) continue;
        if (is_idle(g, i) || !give_up_reading(g, i)) continue;
        forget(g, i);
        return true;
    }
    return false;
}

// Does not wait, which would release the lock: while a choice is half assigned, nothing else may
// fill slots with its experts. -1: the mapping must be used.
static int32_t find_slot(struct ggs_stream * s, struct ggs_expert_group * g) {
    int32_t slot = find_victim(g);
    if (slot < 0) slot = find_overflow(s, g);
    return slot < 0 && make_free(g) ? find_victim(g) : slot;
}

static void assign(struct ggs_expert_group * g, uint32_t slot, int32_t expert) {
    forget(g, slot);
    for (uint32_t k = 0; k < g->n_weights; k++) ggs_arrival_clear(&g->weights[k]->arrivals[slot]);
    g->slots[slot].expert = expert;
    g->slots[slot].used   = g->clock;
    g->slot_of[expert]    = (int32_t) slot;
    if (slot >= g->n_slots && slot - g->n_slots + 1 > g->n_overflow) g->n_overflow = slot - g->n_slots + 1;
}

// ---- reading ----

static bool has_memory(const struct ggs_stream * s, const struct ggs_weight * w, uint32_t slot) {
    const struct ggs_expert_group * g = w->group;
    return slot < g->n_slots || (slot - g->n_slots + 1) * w->stride <= w->n_spare * s->spares.chunk;
}

static void read_slot(struct ggs_stream * s, struct ggs_weight * w, uint32_t slot, enum ggs_urgency urgency) {
    uint64_t        expert = (uint64_t) w->group->slots[slot].expert;
    struct ggs_span span   = ggs_span_of(w->offset + expert * w->expert_bytes, w->expert_bytes, w->file->alignment);
    ggs_arrival_read(s, &w->arrivals[slot], w->file->direct, &span, w->window + slot * w->stride, w->uneven, urgency);
}

// Requests an expert's part of a weight: now if its slot has memory, else when there is some.
static void ask(struct ggs_stream * s, struct ggs_weight * w, uint32_t slot, enum ggs_urgency urgency) {
    if (w->arrivals[slot].state != GGS_ARRIVAL_EMPTY) return; // it arrived with the memory of another
    if (has_memory(s, w, slot)) {
        read_slot(s, w, slot, urgency);
    } else {
        ggs_spares_want(s, w);
    }
}

void ggs_expert_slots_read_overflow(struct ggs_stream * s, struct ggs_weight * w, enum ggs_urgency urgency) {
    struct ggs_expert_group * g = w->group;
    for (uint32_t i = g->n_slots; i < g->n_slots + g->n_overflow; i++) {
        if (g->slots[i].expert >= 0 && w->arrivals[i].state == GGS_ARRIVAL_EMPTY && has_memory(s, w, i))
            read_slot(s, w, i, urgency);
    }
}

static int by_number(const void * a, const void * b) {
    int32_t x = *(const int32_t *) a, y = *(const int32_t *) b;
    return x < y ? -1 : x > y;
}

// Requests experts that have slots, in order of use. Adjacent ones in the file become one request.
static void ask_for(struct ggs_stream * s, struct ggs_expert_group * g, int32_t * experts, uint32_t n,
                    enum ggs_urgency urgency) {
    qsort(experts, n, sizeof(*experts), by_number);
    for (uint32_t k = 0; k < g->n_weights; k++) {
        for (uint32_t i = 0; i < n; i++) ask(s, g->weights[k], (uint32_t) g->slot_of[experts[i]], urgency);
    }
}

static uint64_t bytes_of_expert(const struct ggs_expert_group * g) {
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < g->n_weights; k++) bytes += g->weights[k]->expert_bytes;
    return bytes;
}

uint32_t ggs_expert_slots_read_early(struct ggs_stream * s, struct ggs_expert_group * g, int32_t * experts, uint32_t n,
                                     enum ggs_urgency urgency, bool overflow) {
    uint32_t read = 0;
    bool     idle = urgency == GGS_READ_IDLE;
    for (uint32_t i = 0; i < n; i++) {
        int32_t e = experts[i], slot = g->slot_of[e];
        if (slot >= 0) {
            g->slots[slot].used = g->clock; // it stays
            continue;
        }
        slot = find_victim(g);
        if (slot < 0 && overflow) slot = find_overflow(s, g);
        if (slot < 0) break;
        assign(g, (uint32_t) slot, e);
        g->slots[slot].predicted = !idle;
        experts[read++]          = e;
    }
    ask_for(s, g, experts, read, urgency);
    *(idle ? &s->counts.bytes_filled : &s->counts.bytes_predicted) += read * bytes_of_expert(g);
    if (idle) return read;
    g->predicted += read;
    s->counts.predicted += read;
    return read;
}

// ---- choices ----

bool ggs_expert_slots_reserve(struct ggs_stream * s, const struct ggs_expert_group * g) {
    uint32_t n = g->n_experts;
    if (n <= s->scratch.capacity) return true;
    free(s->scratch.experts);
    free(s->scratch.count);
    free(s->scratch.score);
    s->scratch.experts  = malloc(n * sizeof(*s->scratch.experts));
    s->scratch.count    = malloc(n * sizeof(*s->scratch.count));
    s->scratch.score    = malloc(n * sizeof(*s->scratch.score));
    bool ok             = s->scratch.experts != NULL && s->scratch.count != NULL && s->scratch.score != NULL;
    s->scratch.capacity = ok ? n : 0;
    return ok;
}

// Collects the distinct experts of all tokens with their counts. -1 if an id is invalid.
static int64_t collect(struct ggs_stream * s, const struct ggs_routing * r) {
    uint32_t n = 0, *count = s->scratch.count;
    memset(count, 0, r->group->n_experts * sizeof(*count));
    for (int64_t t = 0; t < r->ids->ne[1]; t++) {
        for (int64_t i = 0; i < r->ids->ne[0]; i++) {
            int32_t e = ggs_expert_at(r->ids, t, i);
            if (e < 0 || (uint32_t) e >= r->group->n_experts) return -1;
            if (count[e]++ == 0) s->scratch.experts[n++] = e;
        }
    }
    return n;
}

// Marks the slots of experts in memory and moves the missing ones to the front. Returns the number
// of missing ones.
static uint32_t mark_hits(struct ggs_stream * s, struct ggs_routing * r, uint32_t n) {
    struct ggs_expert_group * g       = r->group;
    int32_t *                 experts = s->scratch.experts;
    uint32_t                  missing = 0;
    g->clock++;
    ggs_stream_age(&g->weight, g->score, g->n_experts);
    for (uint32_t i = 0; i < n; i++) {
        int32_t e = experts[i], slot = g->slot_of[e];
        g->score[e] += g->weight;
        g->chosen[e] += s->scratch.count[e];
        if (slot < 0) {
            experts[i]         = experts[missing];
            experts[missing++] = e;
            continue;
        }
        r->hits++;
        r->predicted_used += g->slots[slot].predicted;
        g->slots[slot].used      = g->clock;
        g->slots[slot].predicted = false;
        for (uint32_t k = 0; k < g->n_weights; k++) ggs_arrival_hurry(&g->weights[k]->arrivals[slot], GGS_READ_NOW);
    }
    s->counts.hits += r->hits;
    s->counts.predicted_used += r->predicted_used;
    return missing;
}

// Drops an expert that was read early and is not chosen, unless all its reads have begun: the disk
// has others to read.
static void drop_wrong(struct ggs_stream * s, struct ggs_routing * r, uint32_t slot) {
    struct ggs_expert_group * g = r->group;
    uint32_t                  k = g->n_weights;
    if (g->slots[slot].expert < 0 || !g->slots[slot].predicted || g->slots[slot].used >= g->clock) return;
    for (; k > 0; k--) {
        struct ggs_arrival * arrival = &g->weights[k - 1]->arrivals[slot];
        if (arrival->state != GGS_ARRIVAL_EMPTY && !ggs_arrival_cancel(arrival)) break;
        s->counts.bytes_predicted -= g->weights[k - 1]->expert_bytes;
        r->early[k - 1]--;
    }
    if (k == g->n_weights) return;
    r->predicted--;
    s->counts.predicted--;
    forget(g, slot);
}

static void drop_all_wrong(struct ggs_stream * s, struct ggs_routing * r) {
    const struct ggs_expert_group * g = r->group;
    for (uint32_t i = 0; i < g->n_slots - g->n_given && r->predicted > 0; i++) drop_wrong(s, r, i);
    for (uint32_t i = g->n_slots; i < g->n_slots + g->n_overflow && r->predicted > 0; i++) drop_wrong(s, r, i);
}

// Assigns a slot to each missing expert and requests it. False if there are not enough slots.
static bool ask_missing(struct ggs_stream * s, struct ggs_routing * r, uint32_t missing) {
    struct ggs_expert_group * g = r->group;
    for (uint32_t i = 0; i < missing; i++) {
        int32_t slot = find_slot(s, g);
        if (slot < 0) {
            while (i-- > 0) forget(g, (uint32_t) g->slot_of[s->scratch.experts[i]]);
            return false;
        }
        assign(g, (uint32_t) slot, s->scratch.experts[i]);
    }
    ask_for(s, g, s->scratch.experts, missing, GGS_READ_NOW);
    r->misses = missing;
    s->counts.misses += missing;
    s->counts.bytes_experts += missing * bytes_of_expert(g);
    return true;
}

void ggs_expert_slots_route(struct ggs_stream * s, struct ggs_routing * r) {
    struct ggs_expert_group * g = r->group;
    r->fits                     = false;
    g->choices++;
    r->predicted = g->predicted;
    g->predicted = 0;
    for (uint32_t k = 0; k < g->n_weights; k++) r->early[k] = r->predicted;
    if (g->slots == NULL || !ggs_expert_slots_reserve(s, g) ||
        !ggs_array_reserve(r->chosen, r->chosen_capacity, g->n_experts) ||
        !ggs_array_reserve(r->renamed, r->renamed_capacity, (size_t) (r->ids->ne[0] * r->ids->ne[1])))
        return;
    int64_t n = collect(s, r);
    if (n < 0) return;
    uint32_t missing = mark_hits(s, r, (uint32_t) n);
    drop_all_wrong(s, r);
    if (!ask_missing(s, r, missing)) return;
    r->n_chosen = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t e                = s->scratch.experts[i];
        r->chosen[r->n_chosen++] = (struct ggs_chosen){e, (uint32_t) g->slot_of[e]};
    }
    for (int64_t t = 0, at = 0; t < r->ids->ne[1]; t++) {
        for (int64_t i = 0; i < r->ids->ne[0]; i++, at++) r->renamed[at] = g->slot_of[ggs_expert_at(r->ids, t, i)];
    }
    r->fits = true;
}

// True if every needed slot has memory and its expert, arrived or in flight. Requests what is
// missing.
static bool ask_again(struct ggs_stream * s, const struct ggs_routing * r, struct ggs_weight * w) {
    bool has_all = true;
    for (size_t i = 0; i < r->n_chosen; i++) has_all &= has_memory(s, w, r->chosen[i].slot);
    if (!has_all && !ggs_spares_need(s, w)) return false;
    for (size_t i = 0; i < r->n_chosen; i++) {
        uint32_t slot = r->chosen[i].slot;
        if (r->group->slots[slot].expert != r->chosen[i].expert) return false;
        if (w->arrivals[slot].state == GGS_ARRIVAL_EMPTY) read_slot(s, w, slot, GGS_READ_NOW);
        ggs_arrival_hurry(&w->arrivals[slot], GGS_READ_NOW);
    }
    return true;
}

static bool await_expert(struct ggs_stream * s, struct ggs_weight * w, uint32_t slot) {
    struct ggs_arrival * arrival = &w->arrivals[slot];
    if (ggs_stream_await(s, arrival)) return true;
    if (arrival->state != GGS_ARRIVAL_EMPTY) return false;
    read_slot(s, w, slot, GGS_READ_NOW); // it had been dropped when its first pieces had begun
    return ggs_stream_await(s, arrival);
}

bool ggs_expert_slots_supply(struct ggs_stream * s, struct ggs_routing * r, uint32_t k) {
    struct ggs_weight * w = r->group->weights[k];
    r->fits               = r->fits && ask_again(s, r, w);
    for (size_t i = 0; r->fits && i < r->n_chosen; i++) {
        uint32_t slot = r->chosen[i].slot;
        uint64_t from = w->offset + (uint64_t) r->chosen[i].expert * w->expert_bytes;
        if (i + 1 == r->n_chosen) ggs_stream_run_wake_soon(s);
        if (!await_expert(s, w, slot)) {
            forget(r->group, slot); // other weights of the group may still be in flight
            r->fits = false;
        } else {
            const char * data = w->window + slot * w->stride + w->delta;
            r->fits           = ggs_stream_verify(s, w->file, from, data, w->expert_bytes);
        }
    }
    if (r->fits) w->in_use = true;
    return r->fits;
}

void ggs_expert_slots_used(struct ggs_stream * s, struct ggs_weight * w) {
    struct ggs_expert_group * g = w->group;
    if (g->n_overflow == 0) return;
    ggs_spares_free(s, w);
    if (w->in_group + 1 < g->n_weights) return;
    for (uint32_t i = g->n_slots; i < g->n_experts; i++) forget(g, i);
    g->n_overflow = 0;
}

void ggs_expert_slots_end(struct ggs_stream * s) {
    for (size_t i = 0; i < s->weights.n_groups; i++) {
        struct ggs_expert_group * g = s->weights.groups[i];
        if (g->n_overflow == 0) continue;
        for (uint32_t k = 0; k < g->n_weights; k++) ggs_spares_free(s, g->weights[k]);
        for (uint32_t slot = g->n_slots; slot < g->n_experts; slot++) forget(g, slot);
        g->n_overflow = 0;
    }
}

// ---- prompts ----

void ggs_expert_slots_foresee(struct ggs_stream * s, const struct ggs_routing * r) {
    struct ggs_expert_group * g = r->group;
    if (g->slots == NULL || r->routed || s->settings.predict == 0) return;
    if (!ggs_stream_nearly_all(g->n_experts, g->n_used, (uint64_t) r->ids->ne[1])) return;
    if (g->n_slots - g->n_given + ggs_spares_slots(s, g) < g->n_experts) return;
    uint32_t n = 0;
    if (!ggs_expert_slots_reserve(s, g)) return;
    g->clock++;
    for (uint32_t e = 0; e < g->n_experts; e++) {
        if (g->slot_of[e] < 0) s->scratch.experts[n++] = (int32_t) e;
        if (g->slot_of[e] >= 0) g->slots[g->slot_of[e]].used = g->clock;
    }
    ggs_expert_slots_read_early(s, g, s->scratch.experts, n, GGS_READ_SOON, true);
}
