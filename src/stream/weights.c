#include "stream/weights.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "stream/files.h"
#include "stream/memory.h"

enum { MIB = 1 << 20, LEAST_RING = 1 << 20, TABLE = 1 << 15, MOST_WEIGHTS = TABLE / 2, MOST_GROUPS = 1024 };

static struct ggs_weight * table[TABLE];          // by address and size
static struct ggs_weight * weights[MOST_WEIGHTS]; // in order of first use
static uint32_t            n_weights, n_arranged; // those behind have not been decided on
static struct ggs_group *  groups[MOST_GROUPS];
static uint32_t            n_groups;
static char *              kept_memory, *slot_memory;
static uint64_t            kept_bytes, slot_bytes;

// ---- the table ----

struct ggs_weight * ggs_weight_at(const char * address, uint64_t bytes, int file, uint64_t offset) {
    uint64_t at = (((uint64_t) address ^ (bytes << 7)) * 0x9e3779b97f4a7c15u) >> 49;
    for (;; at = (at + 1) % TABLE) {
        struct ggs_weight * w = table[at];
        if (w == NULL) break;
        if (w->address == address && w->bytes == bytes) return w;
    }
    if (n_weights == MOST_WEIGHTS) return NULL;
    struct ggs_weight * w = calloc(1, sizeof(*w));
    if (w == NULL) return NULL;
    w->address           = address;
    w->bytes             = bytes;
    w->file              = file;
    w->offset            = offset;
    w->order             = n_weights;
    table[at]            = w;
    weights[n_weights++] = w;
    return w;
}

struct ggs_group * ggs_group_new(uint32_t n_experts, uint32_t n_used) {
    if (n_groups == MOST_GROUPS) return NULL;
    struct ggs_group * g = calloc(1, sizeof(*g));
    if (g == NULL) return NULL;
    g->n_experts = n_experts;
    g->n_used    = n_used;
    g->slot_of   = malloc(n_experts * sizeof(*g->slot_of));
    if (g->slot_of == NULL) {
        free(g);
        return NULL;
    }
    groups[n_groups++] = g;
    return g;
}

bool ggs_group_add(struct ggs_group * group, struct ggs_weight * weight) {
    if (group->n_weights == GGS_GROUP_WEIGHTS) return false;
    weight->group                      = group;
    weight->in_group                   = group->n_weights;
    weight->expert_bytes               = weight->bytes / group->n_experts;
    group->weights[group->n_weights++] = weight;
    return true;
}

static struct ggs_span span_of(int file, uint64_t offset, uint64_t bytes) {
    const struct ggs_stream_file * f     = ggs_files_get(file);
    uint64_t                       block = f->alignment, begin = offset / block * block;
    uint64_t                       end  = (offset + bytes + block - 1) / block * block;
    struct ggs_span                span = {.offset = begin, .bytes = end - begin, .delta = (uint32_t) (offset - begin)};
    span.needed                         = offset + bytes - begin;
    return span;
}

struct ggs_span ggs_weight_span(const struct ggs_weight * weight) {
    return span_of(weight->file, weight->offset, weight->bytes);
}

struct ggs_span ggs_expert_span(const struct ggs_weight * weight, uint32_t expert) {
    return span_of(weight->file, weight->offset + expert * weight->expert_bytes, weight->expert_bytes);
}

uint64_t ggs_weights_new(void) {
    uint64_t bytes = 0;
    for (uint32_t i = n_arranged; i < n_weights; i++) bytes += weights[i]->bytes;
    return bytes;
}

uint64_t ggs_weights_total(void) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n_weights; i++) bytes += weights[i]->bytes;
    return bytes;
}

// ---- deciding ----

// Memory that a weight takes where it is kept or in the ring.
static uint64_t room(const struct ggs_weight * w) {
    return (ggs_weight_span(w).bytes + 4095) / 4096 * 4096;
}

void ggs_weights_drop(void) {
    ggs_memory_give_back(kept_memory, kept_bytes);
    ggs_memory_give_back(slot_memory, slot_bytes);
    kept_memory = slot_memory = NULL;
    kept_bytes = slot_bytes = 0;
    for (uint32_t i = 0; i < n_weights; i++) {
        struct ggs_weight * w = weights[i];
        w->kept = w->slots = NULL;
        w->asked = w->ready = false;
        w->load             = (struct ggs_arrival){0, false};
    }
    for (uint32_t i = 0; i < n_groups; i++) {
        free(groups[i]->slot);
        groups[i]->slot    = NULL;
        groups[i]->n_slots = 0;
        groups[i]->warm    = false;
        for (uint32_t e = 0; e < groups[i]->n_experts; e++) groups[i]->slot_of[e] = -1;
    }
}

struct totals {
    uint64_t dense, largest_dense, largest_expert_tensor;
    uint64_t one_slot_each; // bytes of one slot in every group
    uint64_t least_slots;   // bytes of the slots that one token needs
};

static uint64_t slot_stride(const struct ggs_weight * w) {
    uint64_t block = ggs_files_get(w->file)->alignment;
    return (w->expert_bytes + 3 * block - 1) / block * block; // room for a block that is cut at both ends
}

static struct totals total_up(void) {
    struct totals t = {0};
    for (uint32_t i = 0; i < n_weights; i++) {
        uint64_t bytes = room(weights[i]);
        if (weights[i]->group == NULL) {
            t.dense += bytes;
            if (bytes > t.largest_dense) t.largest_dense = bytes;
        } else if (bytes > t.largest_expert_tensor) {
            t.largest_expert_tensor = bytes;
        }
    }
    for (uint32_t i = 0; i < n_groups; i++) {
        uint64_t one = 0;
        for (uint32_t k = 0; k < groups[i]->n_weights; k++) one += slot_stride(groups[i]->weights[k]);
        t.one_slot_each += one;
        t.least_slots += one * groups[i]->n_used;
    }
    return t;
}

// The ring: large enough for what goes through it while the disk is busy with what comes next, small beside what could be kept instead.
// The largest weights are kept where they can be, so that it need not hold them. 0 where `budget` is too little.
static uint64_t ring_for_dense(const struct totals * t, uint64_t budget) {
    uint64_t ring = budget / 5, large = 0;
    if (ring > 32 * (uint64_t) MIB) ring = 32 * (uint64_t) MIB;
    for (uint32_t i = 0; i < n_weights; i++) {
        if (weights[i]->group == NULL && 2 * room(weights[i]) > ring) large += room(weights[i]);
    }
    if (large <= budget - ring) return ring;
    if (2 * t->largest_dense <= budget / 2) return 2 * t->largest_dense;
    return t->largest_dense <= budget - budget / 8 ? t->largest_dense : 0;
}

// A prompt uses nearly all experts of a layer: they go through the ring as a whole, two weights at a time where there is room.
static uint64_t ring_for_experts(const struct totals * t, uint64_t budget) {
    uint64_t one = t->largest_expert_tensor + MIB, ring = 2 * one;
    if (ring > budget / 4 || t->dense + t->least_slots + ring > budget) ring = one;
    if (t->dense + t->least_slots + ring <= budget) return ring;
    if (t->least_slots + ring > budget) return 0;
    uint64_t dense = ring_for_dense(t, budget - t->least_slots); // these take turns in it
    return dense == 0 ? 0 : dense > ring ? dense : ring;
}

static int by_room(const void * a, const void * b) {
    uint64_t x = room(*(struct ggs_weight *const *) a), y = room(*(struct ggs_weight *const *) b);
    return x < y ? 1 : x > y ? -1 : 0;
}

// Chooses what is kept of the dense weights. A cyclic scan gains most from a fixed set, and the disk is busy evenly where that
// is spread over the order of use. What would hardly fit the ring comes first.
static uint64_t choose_kept(uint64_t most, uint64_t ring) {
    struct ggs_weight ** large = malloc((n_weights + 1) * sizeof(*large));
    uint64_t             used = 0, rest = 0;
    uint32_t             n_large = 0;
    if (large == NULL) return 0;
    for (uint32_t i = 0; i < n_weights; i++) {
        struct ggs_weight * w = weights[i];
        if (w->group != NULL) continue;
        w->place = GGS_PLACE_STREAMED;
        if (w->is_router && used + room(w) <= most) {
            w->place = GGS_PLACE_KEPT;
            used += room(w);
        } else if (2 * room(w) > ring) {
            large[n_large++] = w;
        } else {
            rest += room(w);
        }
    }
    qsort(large, n_large, sizeof(*large), by_room);
    for (uint32_t i = 0; i < n_large; i++) {
        if (used + room(large[i]) <= most) {
            large[i]->place = GGS_PLACE_KEPT;
            used += room(large[i]);
        } else if (room(large[i]) > ring) {
            large[i]->place = GGS_PLACE_MAPPED;
        }
    }
    free(large);
    uint64_t left  = ggs_stream_settings.keep == GGS_KEEP_NONE || most < used ? 0 : most - used;
    double   share = rest == 0 ? 0 : (double) left / (double) rest, owed = 0;
    if (share > 1 || ggs_stream_settings.keep == GGS_KEEP_FIRST) share = 1;
    for (uint32_t i = 0; i < n_weights; i++) {
        struct ggs_weight * w = weights[i];
        if (w->group != NULL || w->place != GGS_PLACE_STREAMED || 2 * room(w) > ring) continue;
        uint64_t bytes = room(w);
        owed += share * (double) bytes;
        if (bytes > left || (share < 1 && owed < (double) bytes / 2)) continue;
        owed -= (double) bytes;
        left -= bytes;
        used += bytes;
        w->place = GGS_PLACE_KEPT;
    }
    return used;
}

static bool give_slots(struct ggs_group * g, uint32_t n, char ** memory) {
    g->slot = calloc(n, sizeof(*g->slot));
    if (g->slot == NULL) return false;
    g->n_slots = n;
    for (uint32_t s = 0; s < n; s++) g->slot[s].expert = -1;
    for (uint32_t k = 0; k < g->n_weights; k++) {
        struct ggs_weight * w     = g->weights[k];
        uint64_t            block = ggs_files_get(w->file)->alignment;
        w->place                  = GGS_PLACE_SLOTS;
        w->stride                 = slot_stride(w);
        w->uneven                 = w->expert_bytes % block != 0;
        w->delta                  = w->uneven ? 0 : (uint32_t) (w->offset % block);
        w->slots                  = *memory;
        *memory += w->stride * n;
    }
    return true;
}

static void place_kept(uint64_t used) {
    kept_memory = used == 0 ? NULL : ggs_memory_take(used);
    kept_bytes  = kept_memory == NULL ? 0 : used;
    char * at   = kept_memory;
    for (uint32_t i = 0; i < n_weights; i++) {
        struct ggs_weight * w = weights[i];
        if (w->group != NULL || w->place != GGS_PLACE_KEPT) continue;
        if (at == NULL) {
            w->place = GGS_PLACE_STREAMED;
            continue;
        }
        w->kept = at;
        at += room(w);
    }
}

static void place_slots(uint32_t each, uint64_t one_slot_each) {
    slot_bytes  = each * one_slot_each;
    slot_memory = slot_bytes == 0 ? NULL : ggs_memory_take(slot_bytes);
    if (slot_memory == NULL) slot_bytes = 0;
    char * at = slot_memory;
    for (uint32_t i = 0; i < n_groups; i++) {
        uint32_t n  = each < groups[i]->n_experts ? each : groups[i]->n_experts;
        bool     ok = at != NULL && n >= groups[i]->n_used && give_slots(groups[i], n, &at);
        for (uint32_t k = 0; !ok && k < groups[i]->n_weights; k++) groups[i]->weights[k]->place = GGS_PLACE_MAPPED;
    }
}

bool ggs_weights_arrange(uint64_t budget, uint64_t * ring_bytes) {
    ggs_weights_drop();
    n_arranged          = n_weights;
    struct totals t     = total_up();
    uint64_t      slots = n_groups == 0 ? 0 : t.least_slots;
    uint64_t      ring  = n_groups == 0 ? ring_for_dense(&t, budget) : ring_for_experts(&t, budget);
    if (ring < LEAST_RING || slots + ring > budget) return false;
    uint64_t kept = choose_kept(budget - ring - slots, ring);
    for (uint32_t i = 0; i < n_weights;
         i++) { // what the mapping has to do thrashes in the little that is left to the page cache
        if (weights[i]->group == NULL && weights[i]->place == GGS_PLACE_MAPPED) return false;
    }
    place_kept(kept);
    if (t.one_slot_each > 0) place_slots((uint32_t) ((budget - ring - kept) / t.one_slot_each), t.one_slot_each);
    *ring_bytes = ring;
    return true;
}

void ggs_weights_forget(void) {
    ggs_weights_drop();
    for (uint32_t i = 0; i < n_weights; i++) free(weights[i]);
    for (uint32_t i = 0; i < n_groups; i++) {
        free(groups[i]->slot_of);
        free(groups[i]);
    }
    memset(table, 0, sizeof(table));
    n_weights = n_arranged = n_groups = 0;
}

struct ggs_weights_sizes ggs_weights_sizes(void) {
    struct ggs_weights_sizes s = {.slots = slot_bytes};
    for (uint32_t i = 0; i < n_weights; i++) {
        const struct ggs_weight * w = weights[i];
        *(w->group == NULL ? &s.dense : &s.experts) += w->bytes;
        if (w->place == GGS_PLACE_KEPT) s.kept += w->bytes;
        if (w->place == GGS_PLACE_STREAMED) s.streamed += w->bytes;
        if (w->place == GGS_PLACE_MAPPED) s.mapped += w->bytes;
    }
    return s;
}
