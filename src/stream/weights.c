#include "stream/weights.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/stream-plan.h"
#include "stream/disk/files.h"
#include "stream/memory/memory.h"

enum { TABLE = 1 << 15, MOST_WEIGHTS = TABLE / 2, MOST_GROUPS = 1024, APART = 5, AT_ONCE = 16 << 20 };

static struct ggs_weight *       table[TABLE];          // by address and size
static struct ggs_weight *       weights[MOST_WEIGHTS]; // in order of first use
static uint32_t                  n_weights, n_arranged; // those behind have not been decided on
static struct ggs_expert_group * groups[MOST_GROUPS];
static uint32_t                  n_groups;
static char *                    kept_memory, *slot_memory;
static uint64_t                  kept_bytes, slot_bytes, whole_bytes; // the last `whole_bytes` of the slots can be lent
static pthread_mutex_t           lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t                  given;
static struct ggs_expert_group * turns[GGS_STREAM_SHARES]; // of slots that groups have in turns

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
    w->address = address;
    w->bytes   = bytes;
    w->file    = file;
    w->offset  = offset;
    w->order   = n_weights;
    table[at]  = w;
    ggs_weights_lock(); // the thread that gives memory back looks through them
    weights[n_weights++] = w;
    ggs_weights_unlock();
    return w;
}

static void free_group(struct ggs_expert_group * g) {
    free(g->slot_of);
    free(g->score);
    free(g);
}

struct ggs_expert_group * ggs_expert_group_new(uint32_t n_experts, uint32_t n_used, int layer, uint64_t n_inputs) {
    if (n_groups == MOST_GROUPS) return NULL;
    struct ggs_expert_group * g = calloc(1, sizeof(*g));
    if (g == NULL) return NULL;
    g->n_experts = n_experts;
    g->n_used    = n_used;
    g->weight    = 1;
    g->layer     = layer;
    g->n_inputs  = n_inputs;
    g->number    = n_groups;
    g->slot_of   = malloc(n_experts * sizeof(*g->slot_of));
    g->score     = calloc(n_experts, sizeof(*g->score));
    if (g->slot_of == NULL || g->score == NULL) {
        free_group(g);
        return NULL;
    }
    ggs_weights_lock();
    groups[n_groups++] = g;
    ggs_weights_unlock();
    return g;
}

bool ggs_expert_group_add(struct ggs_expert_group * group, struct ggs_weight * weight) {
    if (group->n_weights == GGS_GROUP_WEIGHTS) return false;
    ggs_weights_lock();
    weight->group                      = group;
    weight->in_group                   = group->n_weights;
    weight->expert_bytes               = weight->bytes / group->n_experts;
    group->weights[group->n_weights++] = weight;
    ggs_weights_unlock();
    return true;
}

uint32_t ggs_expert_groups(void) {
    return n_groups;
}

struct ggs_expert_group * ggs_expert_group_at(uint32_t i) {
    return groups[i];
}

struct ggs_expert_group * ggs_expert_group_after(const struct ggs_expert_group * g) {
    struct ggs_expert_group * next = g->number + 1 < n_groups ? groups[g->number + 1] : NULL;
    return next != NULL && g->layer >= 0 && next->layer == g->layer + 1 && next->n_inputs == g->n_inputs ? next : NULL;
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

static void drop(void) {
    given = 0;
    ggs_memory_give_back(kept_memory, kept_bytes);
    ggs_memory_give_back(slot_memory, slot_bytes);
    kept_memory = slot_memory = NULL;
    kept_bytes = slot_bytes = whole_bytes = 0;
    memset(turns, 0, sizeof(turns));
    for (uint32_t i = 0; i < n_weights; i++) {
        struct ggs_weight * w = weights[i];
        w->kept = w->slots = NULL;
        w->asked = w->ready = w->in_use = w->gone = false;
        w->load                                   = (struct ggs_arrival){0, false};
    }
    for (uint32_t i = 0; i < n_groups; i++) {
        free(groups[i]->slot);
        groups[i]->slot    = NULL;
        groups[i]->n_slots = groups[i]->n_gone = 0;
        groups[i]->warm                        = false;
        groups[i]->lent                        = false;
        groups[i]->turn                        = NULL;
        for (uint32_t e = 0; e < groups[i]->n_experts; e++) groups[i]->slot_of[e] = -1;
    }
}

void ggs_weights_drop(void) {
    ggs_weights_lock();
    drop();
    ggs_weights_unlock();
}

static uint64_t slot_stride(const struct ggs_weight * w) {
    uint64_t block = ggs_files_get(w->file)->alignment;
    return (w->expert_bytes + 3 * block - 1) / block * block; // room for a block that is cut at both ends
}

// Of a slot for each of the group's weights.
static uint64_t slot_of_all(const struct ggs_expert_group * g) {
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < g->n_weights; k++) bytes += slot_stride(g->weights[k]);
    return bytes;
}

// What there is to divide memory among. `dense` has room for all weights.
static struct ggs_stream_plan total_up(uint64_t * dense) {
    struct ggs_stream_plan plan = {.dense = dense};
    for (uint32_t i = 0; i < n_weights; i++) {
        uint64_t bytes = room(weights[i]);
        if (weights[i]->group == NULL) {
            dense[plan.n_dense++] = bytes;
        } else if (bytes > plan.largest_experts) {
            plan.largest_experts = bytes;
        }
    }
    for (uint32_t i = 0; i < n_groups; i++) {
        uint64_t one = slot_of_all(groups[i]), least = one * (groups[i]->n_used + 1); // one for a guess that was wrong
        plan.one_slot_each += one;
        plan.least_slots += least;
        if (least > plan.most_slots) plan.most_slots = least;
    }
    return plan;
}

static int by_room(const void * a, const void * b) {
    uint64_t x = room(*(struct ggs_weight *const *) a), y = room(*(struct ggs_weight *const *) b);
    return x < y ? 1 : x > y ? -1 : 0;
}

// Chooses what is kept of the dense weights. A cyclic scan gains most from a fixed set, and the disk is busy evenly where that
// is spread over the order of use. What would hardly fit the ring comes first.
static uint64_t choose_kept(const struct ggs_stream_plan * plan) {
    uint64_t             most = plan->kept, ring = plan->ring;
    struct ggs_weight ** large = malloc((n_weights + 1) * sizeof(*large));
    uint64_t             used = 0, rest = 0;
    uint32_t             n_large = 0;
    if (large == NULL) return 0;
    for (uint32_t i = 0; i < n_weights; i++) {
        struct ggs_weight * w = weights[i];
        if (w->group != NULL) continue;
        w->place = room(w) > plan->mapped_above ? GGS_PLACE_MAPPED : GGS_PLACE_STREAMED;
        if (w->place == GGS_PLACE_STREAMED && 2 * room(w) > ring) large[n_large++] = w;
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
    for (uint32_t i = 0; i < n_weights; i++) {
        struct ggs_weight * w = weights[i];
        if (w->group != NULL || w->place != GGS_PLACE_STREAMED || 2 * room(w) > ring) continue;
        if (w->is_router && used + room(w) <= most) {
            w->place = GGS_PLACE_KEPT;
            used += room(w);
        } else {
            rest += room(w);
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

static bool give_slots(struct ggs_expert_group * g, uint32_t n, char ** memory) {
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
    uint64_t n = 0;
    for (uint32_t i = 0; i < n_weights; i++) n += weights[i]->group == NULL && weights[i]->place == GGS_PLACE_KEPT;
    kept_memory = used == 0 ? NULL : ggs_memory_take(used, used / n);
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

static void place_slots(const struct ggs_stream_plan * plan, uint64_t memory) {
    uint32_t each = (uint32_t) (memory / plan->one_slot_each);
    uint64_t rest = memory % plan->one_slot_each, more = 0;
    slot_bytes  = (memory < plan->whole ? plan->whole : memory) / 4096 * 4096;
    slot_memory = slot_bytes == 0 ? NULL : ggs_memory_take(slot_bytes, slot_bytes / (plan->shared ? 1 : n_groups) / 2);
    if (slot_memory == NULL) slot_bytes = 0;
    whole_bytes   = slot_memory == NULL ? 0 : plan->whole / 4096 * 4096;
    char *   at   = slot_memory;
    uint64_t part = slot_bytes / GGS_STREAM_SHARES / 4096 * 4096;
    for (uint32_t i = 0; i < n_groups; i++) {
        struct ggs_expert_group * g = groups[i];
        uint32_t                  n = plan->shared ? (uint32_t) (part / slot_of_all(g))
                                                   : each + ggs_stream_one_more(rest, &more, i, n_groups, slot_of_all(g));
        if (plan->shared && at != NULL) at = slot_memory + i % GGS_STREAM_SHARES * part;
        if (plan->shared) g->turn = &turns[i % GGS_STREAM_SHARES];
        bool ok = at != NULL && n >= g->n_used;
        ok      = ok && give_slots(g, n < g->n_experts ? n : g->n_experts, &at);
        for (uint32_t k = 0; !ok && k < g->n_weights; k++) g->weights[k]->place = GGS_PLACE_MAPPED;
    }
}

char * ggs_weights_lend(uint64_t * bytes) {
    char * begin = slot_memory + slot_bytes - whole_bytes;
    *bytes       = whole_bytes;
    if (whole_bytes == 0) return NULL;
    ggs_weights_lock();
    for (uint32_t i = 0; i < n_groups; i++) {
        struct ggs_expert_group * g = groups[i];
        for (uint32_t k = 0; k < g->n_weights && g->n_slots > 0; k++)
            g->lent |= g->weights[k]->slots + g->weights[k]->stride * g->n_slots > begin;
        if (!g->lent) continue;
        for (uint32_t e = 0; e < g->n_experts; e++) g->slot_of[e] = -1;
        for (uint32_t s = 0; s < g->n_slots; s++) g->slot[s].expert = -1;
    }
    ggs_weights_unlock();
    return begin;
}

void ggs_weights_lent_back(void) {
    ggs_weights_lock();
    for (uint32_t i = 0; i < n_groups; i++) groups[i]->lent = false;
    ggs_weights_unlock();
}

// ---- giving back ----

void ggs_weights_lock(void) {
    pthread_mutex_lock(&lock);
}

void ggs_weights_unlock(void) {
    pthread_mutex_unlock(&lock);
}

static bool claim(struct ggs_weight * w, bool * mark, uint64_t ring) {
    ggs_weights_lock();
    bool there = !w->gone;
    if (there) {
        *mark = true;
    } else {
        w->place = room(w) <= ring ? GGS_PLACE_STREAMED : GGS_PLACE_MAPPED;
        w->gone = w->asked = w->ready = false;
    }
    ggs_weights_unlock();
    return there;
}

bool ggs_weight_ask(struct ggs_weight * w, uint64_t ring) {
    return claim(w, &w->asked, ring);
}

bool ggs_weight_use(struct ggs_weight * w, uint64_t ring) {
    return claim(w, &w->in_use, ring);
}

void ggs_weight_used(struct ggs_weight * w) {
    ggs_weights_lock();
    w->in_use = false;
    ggs_weights_unlock();
}

// Slots are given from the end, so that whole huge pages become free; `least` of them stay. Those of the newest choice are in use, or may be.
static uint64_t give_slots_of(struct ggs_expert_group * g, uint32_t least, uint64_t bytes) {
    uint64_t gave = 0;
    while (!g->lent && g->turn == NULL && gave < bytes && g->n_slots - g->n_gone > least) {
        uint32_t                 s    = g->n_slots - g->n_gone - 1;
        struct ggs_expert_slot * slot = &g->slot[s];
        if (slot->expert >= 0 && slot->used >= g->clock) break;
        for (uint32_t k = 0; k < g->n_weights; k++) {
            if (!ggs_arrival_done(&slot->load[k])) return gave;
        }
        if (slot->expert >= 0) g->slot_of[slot->expert] = -1;
        slot->expert = -1;
        g->n_gone++;
        for (uint32_t k = 0; k < g->n_weights; k++)
            gave += ggs_memory_let_go(g->weights[k]->slots + s * g->weights[k]->stride, g->weights[k]->stride);
    }
    return gave;
}

static uint64_t give_experts(bool half, uint64_t bytes) {
    static uint32_t next; // another one each time
    uint64_t        gave = 0;
    for (uint32_t i = 0; i < n_groups && gave < bytes; i++) {
        struct ggs_expert_group * g     = groups[next++ % n_groups];
        uint32_t                  least = g->n_used + 1;
        if (half && least < g->n_slots / 2) least = g->n_slots / 2;
        gave += give_slots_of(g, least, bytes - gave);
    }
    return gave;
}

static bool can_go(const struct ggs_weight * w) {
    if (w->group != NULL || w->place != GGS_PLACE_KEPT || w->kept == NULL || w->gone || w->in_use || w->is_router)
        return false;
    return !w->asked || (w->ready && ggs_arrival_done(&w->load));
}

// One here, one there: what is left stays spread over the graph.
static uint64_t give_kept(uint64_t bytes) {
    uint64_t gave = 0;
    for (uint32_t from = 0; from < APART; from++) {
        for (uint32_t i = from; i < n_weights && gave < bytes; i += APART) {
            if (!can_go(weights[i])) continue;
            weights[i]->gone = true;
            gave += ggs_memory_let_go(weights[i]->kept, room(weights[i]));
        }
    }
    return gave;
}

static uint64_t give_some(uint64_t bytes) {
    uint64_t gave = give_experts(true, bytes);
    if (gave < bytes) gave += give_kept(bytes - gave);
    if (gave < bytes) gave += give_experts(false, bytes - gave);
    return gave;
}

uint64_t ggs_weights_give(uint64_t bytes) {
    uint64_t gave = 0, some;
    do { // the thread that runs the graph must not wait long
        ggs_weights_lock();
        some = give_some(bytes - gave < AT_ONCE ? bytes - gave : AT_ONCE);
        given += some;
        ggs_weights_unlock();
        gave += some;
    } while (some > 0 && gave < bytes);
    __atomic_add_fetch(&ggs_stream_counts.bytes_given, gave, __ATOMIC_RELAXED);
    return gave;
}

uint64_t ggs_weights_given(void) {
    return __atomic_load_n(&given, __ATOMIC_RELAXED);
}

uint64_t ggs_weights_promised(void) {
    uint64_t empty = ggs_memory_empty(), gone = ggs_weights_given();
    return empty < gone ? 0 : empty - gone;
}

bool ggs_weights_arrange(uint64_t budget, uint64_t * ring_bytes) {
    uint64_t * dense = malloc((n_weights + 1) * sizeof(*dense));
    if (dense == NULL) return false;
    ggs_weights_drop();
    n_arranged                  = n_weights;
    struct ggs_stream_plan plan = total_up(dense);
    bool                   ok   = ggs_stream_plan(&plan, budget);
    uint64_t               kept = ok ? choose_kept(&plan) : 0;
    free(dense);
    for (uint32_t i = 0; i < n_weights && ok;
         i++) // what is left to the mapping thrashes in the little that the page cache has
        ok = weights[i]->group != NULL || weights[i]->place != GGS_PLACE_MAPPED || room(weights[i]) > plan.mapped_above;
    if (!ok) return false;
    ggs_weights_lock();
    place_kept(kept);
    if (plan.one_slot_each > 0) place_slots(&plan, plan.slots + plan.kept - kept);
    ggs_weights_unlock();
    *ring_bytes = plan.ring;
    return true;
}

void ggs_weights_populate(void) {
    for (uint32_t i = 0; i < n_weights; i++) ggs_files_populate(weights[i]->address, weights[i]->bytes);
}

void ggs_weights_forget(void) {
    ggs_weights_lock();
    drop();
    for (uint32_t i = 0; i < n_weights; i++) free(weights[i]);
    for (uint32_t i = 0; i < n_groups; i++) free_group(groups[i]);
    memset(table, 0, sizeof(table));
    n_weights = n_arranged = n_groups = 0;
    ggs_weights_unlock();
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
