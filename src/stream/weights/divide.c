#include "stream/weights/divide.h"

#include <stdlib.h>
#include <string.h>

#include "base/stream-plan.h"
#include "stream/core.h"

static uint64_t stride_of(const struct ggs_weight * w) {
    uint64_t block = w->file->alignment; // room for a partial block at each end
    return (w->expert_bytes + 3 * block - 1) / block * block;
}

// Bytes of one slot in each of the group's weights.
static uint64_t slot_bytes(const struct ggs_expert_group * g) {
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < g->n_weights; k++) bytes += stride_of(g->weights[k]);
    return bytes;
}

// Totals of the weights, as input of the plan. `dense` has room for all weights.
static struct ggs_stream_plan total_up(const struct ggs_weight_table * all, uint64_t * dense) {
    struct ggs_stream_plan plan = {.dense = dense};
    for (size_t i = 0; i < all->n; i++) {
        const struct ggs_weight * w = all->weights[i];
        if (w->group == NULL) {
            dense[plan.n_dense++] = ggs_weight_room(w);
        } else if (stride_of(w) * w->group->n_experts > plan.largest_experts) {
            plan.largest_experts = stride_of(w) * w->group->n_experts;
        }
    }
    for (size_t i = 0; i < all->n_groups; i++) {
        const struct ggs_expert_group * g = all->groups[i];
        plan.one_slot_each += slot_bytes(g);
        plan.all_slots += slot_bytes(g) * g->n_experts;
        plan.least_slots += slot_bytes(g) * (g->n_used + 1); // one for a wrong prediction
    }
    return plan;
}

// ---- kept weights ----

static int by_room(const void * a, const void * b) {
    uint64_t x = ggs_weight_room(*(struct ggs_weight *const *) a), y = ggs_weight_room(*(struct ggs_weight *const *) b);
    return x < y ? 1 : x > y ? -1 : 0;
}

// Keeps weights that hardly fit the ring first, the largest ones first. Returns the bytes of kept
// weights.
static uint64_t keep_large(struct ggs_weight_table * all, const struct ggs_stream_plan * plan) {
    struct ggs_weight ** large = malloc((all->n + 1) * sizeof(*large));
    uint64_t             used  = 0;
    size_t               n     = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct ggs_weight * w = all->weights[i];
        if (w->group != NULL) continue;
        w->where = ggs_weight_room(w) > plan->mapped_above ? GGS_WEIGHT_MAPPED : GGS_WEIGHT_STREAMED;
        if (w->where == GGS_WEIGHT_STREAMED && 2 * ggs_weight_room(w) > plan->ring && large != NULL) large[n++] = w;
    }
    if (n > 0) qsort(large, n, sizeof(*large), by_room);
    for (size_t i = 0; i < n; i++) {
        if (used + ggs_weight_room(large[i]) <= plan->kept) {
            large[i]->where = GGS_WEIGHT_KEPT;
            used += ggs_weight_room(large[i]);
        } else if (ggs_weight_room(large[i]) > plan->ring) {
            large[i]->where = GGS_WEIGHT_MAPPED;
        }
    }
    free(large);
    return used;
}

static bool is_streamed(const struct ggs_weight * w, const struct ggs_stream_plan * plan) {
    return w->group == NULL && w->where == GGS_WEIGHT_STREAMED && 2 * ggs_weight_room(w) <= plan->ring;
}

// Chooses the dense weights to keep. A fixed set is best for a cyclic scan, and spreading it over
// the order of use keeps the disk evenly busy.
static uint64_t choose_kept(struct ggs_weight_table * all, const struct ggs_stream_plan * plan, enum ggs_keep keep) {
    uint64_t used = keep_large(all, plan), rest = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct ggs_weight * w = all->weights[i];
        if (!is_streamed(w, plan)) continue;
        if (w->is_router && used + ggs_weight_room(w) <= plan->kept) {
            w->where = GGS_WEIGHT_KEPT;
            used += ggs_weight_room(w);
        } else {
            rest += ggs_weight_room(w);
        }
    }
    uint64_t left  = keep == GGS_KEEP_NONE ? 0 : plan->kept - used;
    double   share = rest == 0 ? 0 : (double) left / (double) rest, owed = 0;
    if (share > 1 || keep == GGS_KEEP_FIRST) share = 1;
    for (size_t i = 0; i < all->n; i++) {
        struct ggs_weight * w = all->weights[i];
        if (!is_streamed(w, plan)) continue;
        uint64_t bytes = ggs_weight_room(w);
        owed += share * (double) bytes;
        if (bytes > left || (share < 1 && owed < (double) bytes / 2)) continue;
        owed -= (double) bytes;
        left -= bytes;
        used += bytes;
        w->where = GGS_WEIGHT_KEPT;
    }
    return used;
}

static void place_kept(struct ggs_stream * s, uint64_t bytes) {
    uint64_t n = 0;
    for (size_t i = 0; i < s->weights.n; i++) {
        const struct ggs_weight * w = s->weights.weights[i];
        n += w->group == NULL && w->where == GGS_WEIGHT_KEPT;
    }
    // A huge page stays charged while any part of it is held: small pages are used if weights may
    // be given back one by one.
    s->kept       = bytes == 0 ? NULL : ggs_stream_acquire(s, bytes, bytes / n >= GGS_HUGE_PAGE);
    s->kept_bytes = s->kept == NULL ? 0 : bytes;
    char * at     = s->kept;
    for (size_t i = 0; i < s->weights.n; i++) {
        struct ggs_weight * w = s->weights.weights[i];
        if (w->group != NULL || w->where != GGS_WEIGHT_KEPT) continue;
        if (s->kept == NULL) {
            w->where = GGS_WEIGHT_STREAMED;
            continue;
        }
        w->kept = at;
        at += ggs_weight_room(w);
    }
}

// ---- slots ----

// Reserves addresses for all experts and memory for `n` of them. The memory ends where chunks of
// pages can begin.
static bool place_window(struct ggs_stream * s, struct ggs_weight * w, uint32_t n, uint64_t granule) {
    struct ggs_memory * m     = s->world.memory;
    uint64_t            block = w->file->alignment, chunk = s->spares.chunk;
    w->stride         = stride_of(w);
    w->uneven         = w->expert_bytes % block != 0;
    w->delta          = w->uneven ? 0 : (uint32_t) (w->offset % block);
    w->reserved_bytes = w->stride * w->group->n_experts + chunk + granule;
    w->reserved       = m->reserve(m, w->reserved_bytes);
    w->arrivals       = calloc(w->group->n_experts, sizeof(*w->arrivals));
    if (w->reserved == NULL || w->arrivals == NULL) return false;
    w->window = w->reserved + (granule - n * w->stride % granule) % granule;
    w->where  = GGS_WEIGHT_SLOTS;
    return n == 0 || m->commit(m, w->window, n * w->stride, n * w->stride >= 2 * GGS_HUGE_PAGE);
}

static void release_windows(struct ggs_stream * s, struct ggs_expert_group * g) {
    struct ggs_memory * m = s->world.memory;
    for (uint32_t k = 0; k < g->n_weights; k++) {
        struct ggs_weight * w = g->weights[k];
        if (w->reserved != NULL) m->release(m, w->reserved, w->reserved_bytes);
        free(w->arrivals);
        w->arrivals = NULL;
        w->reserved = w->window = NULL;
        w->n_spare              = 0;
        w->where                = GGS_WEIGHT_MAPPED;
    }
    free(g->slots);
    g->slots   = NULL;
    g->n_slots = g->n_given = g->n_overflow = 0;
    g->full                                 = false;
    for (uint32_t e = 0; e < g->n_experts; e++) g->slot_of[e] = -1;
}

static void place_slots_of(struct ggs_stream * s, struct ggs_expert_group * g, uint64_t granule) {
    g->slots = calloc(g->n_experts, sizeof(*g->slots));
    bool ok  = g->slots != NULL;
    for (uint32_t i = 0; ok && i < g->n_experts; i++) g->slots[i].expert = -1;
    for (uint32_t k = 0; ok && k < g->n_weights; k++) ok = place_window(s, g->weights[k], g->n_slots, granule);
    if (!ok) release_windows(s, g);
}

// Sets the number of slots of each group. Returns the maximum bytes of a weight that experts
// without a slot need.
static uint64_t count_slots(const struct ggs_weight_table * all, const struct ggs_stream_plan * plan, uint64_t memory) {
    uint64_t each = memory / plan->one_slot_each, rest = memory % plan->one_slot_each, used = 0, most = 0;
    for (size_t i = 0; i < all->n_groups; i++) {
        struct ggs_expert_group * g = all->groups[i];
        uint64_t                  n = each + ggs_stream_one_more(rest, &used, i, all->n_groups, slot_bytes(g));
        if (plan->slots == 0) n = 0;
        g->n_slots = n < g->n_experts ? (uint32_t) n : g->n_experts;
        for (uint32_t k = 0; k < g->n_weights; k++) {
            uint64_t bytes = stride_of(g->weights[k]) * (g->n_experts - g->n_slots);
            if (bytes > most) most = bytes;
        }
    }
    return most;
}

static bool place_slots(struct ggs_stream * s, const struct ggs_stream_plan * plan, uint64_t memory) {
    uint64_t least = count_slots(&s->weights, plan, memory), spare = plan->spare + (plan->slots == 0 ? memory : 0);
    struct ggs_stream_chunks c = {0};
    for (int i = 0; i < 2; i++) { // slots give up what chunks take beyond the spare memory
        c             = ggs_stream_chunks(spare, least);
        uint64_t more = c.n * c.bytes > spare ? c.n * c.bytes - spare : 0;
        if (plan->slots > 0) least = count_slots(&s->weights, plan, memory > more ? memory - more : 0);
    }
    if (c.n > 0 && !ggs_spares_resize(s, c.bytes, (uint32_t) c.n, c.granule == GGS_HUGE_PAGE)) return false;
    for (size_t i = 0; i < s->weights.n_groups; i++) place_slots_of(s, s->weights.groups[i], c.granule);
    return true;
}

// ---- interface ----

void ggs_divide_undo(struct ggs_stream * s) {
    ggs_stream_assert_locked(s);
    assert(s->reading == 0 && !s->predictor.busy);
    s->given = 0;
    for (size_t i = 0; i < s->weights.n_groups; i++) release_windows(s, s->weights.groups[i]);
    ggs_spares_resize(s, 0, 0, false);
    if (s->kept != NULL) ggs_stream_free(s, s->kept, s->kept_bytes);
    s->kept       = NULL;
    s->kept_bytes = 0;
    for (size_t i = 0; i < s->weights.n; i++) {
        struct ggs_weight * w = s->weights.weights[i];
        w->kept               = NULL;
        w->where              = GGS_WEIGHT_MAPPED;
        ggs_arrival_clear(&w->arrival);
    }
    ggs_weight_ring_forget(&s->ring);
    ggs_weight_ring_resize(s, 0);
}

static struct ggs_stream_sizes sizes_of(const struct ggs_stream * s) {
    struct ggs_stream_sizes sizes = {.ring = s->ring.bytes, .spare = s->spares.chunk * s->spares.n};
    for (size_t i = 0; i < s->weights.n; i++) {
        const struct ggs_weight * w = s->weights.weights[i];
        *(w->group == NULL ? &sizes.dense : &sizes.experts) += w->bytes;
        if (w->where == GGS_WEIGHT_KEPT) sizes.kept += w->bytes;
        if (w->where == GGS_WEIGHT_STREAMED) sizes.streamed += w->bytes;
        if (w->where == GGS_WEIGHT_MAPPED) sizes.mapped += w->bytes;
        if (w->where == GGS_WEIGHT_SLOTS) sizes.slots += w->stride * w->group->n_slots;
    }
    return sizes;
}

bool ggs_divide(struct ggs_stream * s, uint64_t budget) {
    struct ggs_weight_table * all   = &s->weights;
    uint64_t *                dense = malloc((all->n + 1) * sizeof(*dense));
    ggs_divide_undo(s);
    all->n_divided = all->n;
    if (dense == NULL) return false;
    struct ggs_stream_plan plan = total_up(all, dense);
    bool                   ok   = ggs_stream_plan(&plan, budget);
    uint64_t               kept = ok ? choose_kept(all, &plan, s->settings.keep) : 0;
    free(dense);
    // Mapped weights would thrash in the little page cache that is left.
    for (size_t i = 0; i < all->n && ok; i++) {
        const struct ggs_weight * w = all->weights[i];
        ok = w->group != NULL || w->where != GGS_WEIGHT_MAPPED || ggs_weight_room(w) > plan.mapped_above;
    }
    if (ok) place_kept(s, kept);
    ok = ok && (plan.one_slot_each == 0 || place_slots(s, &plan, plan.slots + plan.kept - kept));
    ok = ok && ggs_weight_ring_resize(s, plan.ring);
    if (!ok) ggs_divide_undo(s);
    s->sizes = sizes_of(s);
    return ok;
}
