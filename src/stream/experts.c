#include "stream/experts.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/stream-plan.h"
#include "stream/disk/files.h"
#include "stream/queue.h"
#include "stream/run.h"

enum { MOST_EXPERTS = 4096, MOST_TOKENS_PREDICTED = 4 };

static const uint64_t SLOW_DISK = 1000000000; // bytes a second

static double waiting = 0; // share of the time, lately

static void ask(const struct ggs_weight * w, struct ggs_expert_slot * slot, uint32_t s, uint32_t expert, bool urgent) {
    struct ggs_span      span = ggs_expert_span(w, expert);
    struct ggs_arrival * load = &slot->load[w->in_group];
    *load                     = (struct ggs_arrival){0, false};
    slot->moved[w->in_group]  = false;
    ggs_reader_ask(load, ggs_files_get(w->file)->direct, span.offset, span.bytes, span.needed, w->slots + s * w->stride,
                   urgent);
}

static bool slot_idle(const struct ggs_expert_group * g, const struct ggs_expert_slot * slot) {
    for (uint32_t k = 0; k < g->n_weights; k++) {
        if (!ggs_arrival_done(&slot->load[k])) return false;
    }
    return true;
}

// The slot whose expert was chosen least often lately, of those not used since `not_since`. -1 if there is none.
static int32_t find_victim(const struct ggs_expert_group * g, uint64_t not_since) {
    int32_t best   = -1;
    double  lowest = DBL_MAX;
    for (uint32_t s = 0; s < g->n_slots - g->n_gone; s++) {
        const struct ggs_expert_slot * slot = &g->slot[s];
        if (slot->expert < 0) return (int32_t) s;
        if (slot->used >= not_since || g->score[slot->expert] >= lowest || !slot_idle(g, slot)) continue;
        lowest = g->score[slot->expert];
        best   = (int32_t) s;
    }
    return best;
}

static void assign(struct ggs_expert_group * g, int32_t s, int32_t expert) {
    struct ggs_expert_slot * slot = &g->slot[s];
    if (slot->expert >= 0) g->slot_of[slot->expert] = -1;
    slot->expert       = expert;
    slot->predicted    = false;
    g->slot_of[expert] = s;
}

static void forget_slot(struct ggs_expert_group * g, struct ggs_expert_slot * slot) {
    if (slot->expert >= 0) g->slot_of[slot->expert] = -1;
    slot->expert = -1;
}

// Slots that the group has in turns with others become its own. False while something is being read into them.
static bool take_turn(struct ggs_expert_group * g) {
    struct ggs_expert_group * before = g->turn == NULL ? g : *g->turn;
    if (before == g) return true;
    for (uint32_t s = 0; before != NULL && s < before->n_slots; s++) {
        if (!slot_idle(before, &before->slot[s])) return false;
    }
    for (uint32_t s = 0; before != NULL && s < before->n_slots; s++) forget_slot(before, &before->slot[s]);
    *g->turn = g;
    return true;
}

static bool make_room(struct ggs_routing * r, uint32_t n) {
    if (r->capacity >= n) return true;
    free(r->needed);
    free(r->renamed);
    r->capacity = 0;
    r->needed   = malloc(n * sizeof(*r->needed));
    r->renamed  = malloc(n * sizeof(*r->renamed));
    if (r->needed == NULL || r->renamed == NULL) return false;
    r->capacity = n;
    return true;
}

static inline int32_t id_at(const struct abi_tensor * ids, int64_t token, int64_t rank) {
    return *(const int32_t *) ((const char *) ids->data + token * (int64_t) ids->nb[1] + rank * (int64_t) ids->nb[0]);
}

// The experts of all tokens, each once. False if an id is none.
static uint32_t collect(const struct ggs_routing * r, int32_t * experts, bool * ok) {
    static uint8_t seen[MOST_EXPERTS];
    uint32_t       n = 0;
    memset(seen, 0, r->group->n_experts);
    for (int64_t t = 0; t < r->ids->ne[1]; t++) {
        for (int64_t i = 0; i < r->ids->ne[0]; i++) {
            int32_t e = id_at(r->ids, t, i);
            if (e < 0 || (uint32_t) e >= r->group->n_experts) {
                *ok = false;
                return 0;
            }
            if (!seen[e]) experts[n++] = e;
            seen[e] = 1;
        }
    }
    *ok = true;
    return n;
}

static void wait_for_reads(void) {
    ggs_weights_unlock();
    ggs_reader_drain();
    ggs_weights_lock();
}

// Gives each of `n` experts a slot. Brings those that are not in memory to the front, and returns how many; -1 if there are too few slots.
static int32_t find_slots(struct ggs_routing * r, int32_t * experts, uint32_t n) {
    struct ggs_expert_group * g       = r->group;
    uint32_t                  missing = 0;
    if (n > g->n_slots - g->n_gone) return -1;
    if (!take_turn(g)) {
        wait_for_reads();
        take_turn(g);
    }
    g->clock++;
    g->warm = true;
    ggs_stream_age(&g->weight, g->score, g->n_experts);
    for (uint32_t i = 0; i < n; i++) {
        int32_t s = g->slot_of[experts[i]];
        g->score[experts[i]] += g->weight;
        if (s < 0) {
            experts[missing++] = experts[i];
            continue;
        }
        struct ggs_expert_slot * slot = &g->slot[s];
        slot->used                    = g->clock;
        r->hits++;
        r->predicted_used += slot->predicted;
        if (slot->predicted) ggs_stream_counts.predicted_used++;
        slot->predicted = false;
        ggs_stream_counts.hits++;
    }
    for (uint32_t i = 0; i < missing; i++) {
        int32_t s = find_victim(g, g->clock);
        if (s < 0) { // all others are being read into for a prediction
            wait_for_reads();
            s = find_victim(g, g->clock);
            if (s < 0) {
                while (i-- > 0) forget_slot(g, &g->slot[g->slot_of[experts[i]]]);
                return -1;
            }
        }
        assign(g, s, experts[i]);
        g->slot[s].used = g->clock;
    }
    return (int32_t) missing;
}

void ggs_experts_route(struct ggs_routing * r) {
    static int32_t            experts[MOST_EXPERTS];
    struct ggs_expert_group * g     = r->group;
    uint32_t                  total = (uint32_t) (r->ids->ne[0] * r->ids->ne[1]);
    r->fits                         = false;
    r->predicted                    = g->predicted;
    g->predicted                    = 0;
    bool ok                         = g->n_experts <= MOST_EXPERTS && make_room(r, total);
    if (!ok) return;
    uint32_t n = collect(r, experts, &ok);
    if (!ok) return;
    ggs_weights_lock();
    int32_t found = find_slots(r, experts, n);
    ggs_weights_unlock(); // what was chosen just now is not given back
    if (found < 0) return;
    uint32_t missing = (uint32_t) found;
    for (uint32_t k = 0; k < g->n_weights && missing > 0; k++) { // in order of use
        for (uint32_t i = 0; i < missing; i++) {
            int32_t s = g->slot_of[experts[i]];
            ask(g->weights[k], &g->slot[s], (uint32_t) s, (uint32_t) experts[i], true);
            ggs_stream_counts.bytes_experts += g->weights[k]->expert_bytes;
        }
    }
    r->misses = missing;
    ggs_stream_counts.misses += missing;
    if (missing > 0) ggs_reader_submit();
    r->n_needed = 0;
    for (int64_t t = 0, at = 0; t < r->ids->ne[1]; t++) {
        for (int64_t i = 0; i < r->ids->ne[0]; i++, at++) r->renamed[at] = g->slot_of[id_at(r->ids, t, i)];
    }
    for (uint32_t s = 0; s < g->n_slots; s++) {
        if (g->slot[s].expert >= 0 && g->slot[s].used == g->clock) r->needed[r->n_needed++] = (int32_t) s;
    }
    r->fits = true;
}

// Brings an expert that began in the middle of a block to the slot's begin, and checks it where that is wanted.
static bool settle(const struct ggs_weight * w, struct ggs_expert_slot * slot, int32_t s) {
    if (slot->moved[w->in_group]) return true;
    char *          begin = w->slots + (uint64_t) s * w->stride;
    struct ggs_span span  = ggs_expert_span(w, (uint32_t) slot->expert);
    if (w->uneven && span.delta > 0) memmove(begin, begin + span.delta, w->expert_bytes);
    slot->moved[w->in_group] = true;
    return ggs_queue_verify(w->file, w->offset + (uint64_t) slot->expert * w->expert_bytes, begin + w->delta,
                            w->expert_bytes);
}

bool ggs_experts_wait(struct ggs_routing * r, uint32_t k) {
    struct ggs_expert_group * g = r->group;
    struct ggs_weight *       w = g->weights[k];
    bool ok                     = g->turn == NULL || *g->turn == g; // else another layer chose before this one was done
    for (uint32_t i = 0; i < r->n_needed; i++) {
        struct ggs_expert_slot * slot = &g->slot[r->needed[i]];
        if (slot->expert < 0) { // it failed for another weight of the group
            ok = false;
            continue;
        }
        struct ggs_arrival * load = &slot->load[k];
        if (!ggs_arrival_done(load)) {
            uint64_t begin = ggs_stream_clock();
            if (ggs_reader_wait(load, ggs_run_soon)) {
                ggs_stream_counts.waits++;
                ggs_stream_counts.wait_ns += ggs_stream_clock() - begin;
            }
        }
        if (load->failed) {
            ggs_stream_note_failure();
            ggs_weights_lock();
            forget_slot(g, slot);
            ggs_weights_unlock();
            ok = false;
        } else if (!settle(w, slot, r->needed[i])) {
            ok = false;
        }
    }
    return ok;
}

// ---- prediction ----

void ggs_experts_note_disk(uint64_t rate) {
    if (rate < SLOW_DISK) waiting = 1;
}

void ggs_experts_note_run(uint64_t wait_ns, uint64_t run_ns) {
    if (run_ns > 0) waiting = 0.9 * waiting + 0.1 * ((double) wait_ns / (double) run_ns);
}

static bool worth_predicting(void) {
    const struct ggs_stream_counts * c = &ggs_stream_counts;
    if (waiting > 0.8) return false; // the disk is the limit: nothing may be read in vain
    return c->predicted < 512 || 3 * c->predicted_used > c->predicted;
}

static float dot(const float * a, const float * b, int64_t n) {
    float sum[8] = {0};
    for (int64_t i = 0; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; k++) sum[k] += a[i + k] * b[i + k];
    }
    float total = 0;
    for (int k = 0; k < 8; k++) total += sum[k];
    return total;
}

static void read_early(struct ggs_expert_group * g, int32_t expert) {
    if (g->slot_of[expert] >= 0) {
        g->slot[g->slot_of[expert]].used = g->clock; // it stays
        return;
    }
    int32_t s = find_victim(g, g->clock);
    if (s < 0) return;
    assign(g, s, expert);
    g->slot[s].used      = g->clock;
    g->slot[s].predicted = true;
    for (uint32_t k = 0; k < g->n_weights; k++) {
        ask(g->weights[k], &g->slot[s], (uint32_t) s, (uint32_t) expert, false);
        ggs_stream_counts.bytes_predicted += g->weights[k]->expert_bytes;
    }
    g->predicted++;
    ggs_stream_counts.predicted++;
}

void ggs_experts_predict(const struct ggs_routing * now, struct ggs_expert_group * g) {
    const struct ggs_weight * r    = g->router;
    const struct abi_tensor * h    = now->hidden;
    int                       most = ggs_stream_settings.predict;
    if (most == 0 || g->lent || r == NULL || !r->ready || h == NULL || g->n_slots - g->n_gone <= g->n_used ||
        g->n_experts > MOST_EXPERTS || now->n_tokens > MOST_TOKENS_PREDICTED ||
        r->bytes != g->n_experts * (uint64_t) h->ne[0] * sizeof(float) || !worth_predicting())
        return;
    if (g->turn != NULL && g->turn == now->group->turn) return; // the same slots
    uint32_t n = most < 0 ? g->n_used : (uint32_t) most;
    if (n * (uint32_t) now->n_tokens > g->n_slots - 1) n = (g->n_slots - 1) / (uint32_t) now->n_tokens;
    const float * matrix = (const void *) (r->kept + ggs_weight_span(r).delta);
    static float  score[MOST_EXPERTS];
    ggs_weights_lock();
    if (!take_turn(g)) {
        ggs_weights_unlock();
        return;
    }
    g->clock++;
    for (int64_t t = 0; t < now->n_tokens; t++) {
        const float * state = (const void *) ((const char *) h->data + (size_t) t * now->step);
        for (uint32_t e = 0; e < g->n_experts; e++) score[e] = dot(matrix + e * (uint64_t) h->ne[0], state, h->ne[0]);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t best = 0;
            for (uint32_t e = 1; e < g->n_experts; e++) best = score[e] > score[best] ? e : best;
            score[best] = -FLT_MAX;
            read_early(g, (int32_t) best);
        }
    }
    ggs_weights_unlock();
    ggs_reader_submit();
}

// ---- prompts ----

void ggs_experts_adopt(struct ggs_routing * r, uint32_t k, const char * data) {
    struct ggs_expert_group * g = r->group;
    static uint32_t           count[MOST_EXPERTS];
    if (g->n_slots == 0 || g->lent || g->turn != NULL || g->n_experts > MOST_EXPERTS || (g->warm && k == 0)) return;
    if (k == 0) { // which ones is decided once, for all weights of the group
        // A run before this one may have guessed what it would choose, and that is still being read.
        bool idle = true;
        for (uint32_t i = 0; i < g->n_slots; i++) idle &= slot_idle(g, &g->slot[i]);
        if (!idle) ggs_reader_drain();
        memset(count, 0, g->n_experts * sizeof(*count));
        for (int64_t t = 0; t < r->ids->ne[1]; t++) {
            for (int64_t i = 0; i < r->ids->ne[0]; i++) {
                int32_t e = id_at(r->ids, t, i);
                if (e >= 0 && (uint32_t) e < g->n_experts) count[e]++;
            }
        }
        ggs_weights_lock();
        ggs_stream_age(&g->weight, g->score, g->n_experts);
        for (uint32_t e = 0; e < g->n_experts; e++) g->score[e] += count[e] > 0 ? g->weight : 0;
        for (uint32_t s = 0; s < g->n_slots - g->n_gone; s++) {
            uint32_t best = 0;
            for (uint32_t e = 1; e < g->n_experts; e++) best = count[e] > count[best] ? e : best;
            if (count[best] == 0) break;
            assign(g, (int32_t) s, (int32_t) best);
            g->slot[s].used = g->clock;
            count[best]     = 0;
            for (uint32_t j = 0; j < g->n_weights; j++)
                g->slot[s].load[j] = (struct ggs_arrival){0, true}; // not there yet
        }
        ggs_weights_unlock();
        g->warm = true;
        r->fits = true; // the other weights follow
    }
    if (!r->fits) return;
    const struct ggs_weight * w = g->weights[k];
    for (uint32_t s = 0; s < g->n_slots; s++) {
        if (g->slot[s].expert < 0) continue;
        memcpy(w->slots + s * w->stride + w->delta, data + (uint64_t) g->slot[s].expert * w->expert_bytes,
               w->expert_bytes);
        g->slot[s].load[k]  = (struct ggs_arrival){0, false};
        g->slot[s].moved[k] = true;
    }
}
