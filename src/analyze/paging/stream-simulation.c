#include "analyze/paging/stream-simulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/stream-plan.h"

enum { BLOCK = 4096, SECTOR = 512, NONE = 0xffffffffu };
enum { MOST_EXPERTS = 4096, MOST_IN_ALL = 1 << 20 }; // a trace that claims more is damaged

// A tensor with experts, including those that no op reads: they fill slots, too.
struct tensor {
    uint32_t first, n; // numbers of its experts
    uint64_t begin;    // of the first one, with the pages of all files in a row
    uint64_t bytes;    // of one
    uint64_t slots, clock;
    uint64_t least;  // smallest number of experts chosen by an op: one token's
    double   weight; // of the next choice
};

struct simulation {
    const struct ggs_paging_weights *  weights;
    const struct ggs_paging_sequence * sequence;
    uint32_t *                         weight_of; // by block, NONE for none
    struct tensor *                    tensors;
    uint64_t *                         used;  // by expert: the tensor's clock at its last use; 0: not in a slot
    double *                           score; // by expert: how often it was chosen, with recent choices counting more
    uint64_t *                         dense; // sizes of the dense ones that are read as a whole
    uint64_t                           n_dense, dense_bytes, n_tensors, n_experts, expert_bytes;
    double                             streamed;           // share of the dense bytes
    uint32_t *                         chosen;             // the experts of the current op
    uint32_t                           n_chosen, choosing; // and their tensor
    bool                               divided;            // memory
    bool                               shared;             // there are no slots: nothing stays
    struct ggs_paging_cost *           cost;
    bool *                             seen; // by block left to the page cache: resident
};

static uint64_t aligned(uint64_t bytes) {
    return (bytes + BLOCK - 1) / BLOCK * BLOCK + BLOCK; // may start anywhere in a block
}

// True if all of its pages are read. Of an embedding table only some rows are.
static bool is_whole(const struct simulation * s, const struct ggs_paging_weight * w) {
    uint64_t pages = 0;
    for (uint32_t b = w->first_block; b < w->first_block + w->n_blocks; b++)
        if (s->sequence->touched[b]) pages += ggs_block_pages(s->sequence, b);
    return pages * s->sequence->page >= w->size - w->size / 16;
}

static bool is_router(const struct ggs_paging_weight * w) {
    return strstr(w->name, ".ffn_gate_inp.weight") != NULL;
}

static bool same_tensor(const struct ggs_paging_weight * a, const struct ggs_paging_weight * b) {
    return a->expert >= 0 && b->expert >= 0 && a->file == b->file && strcmp(a->name, b->name) == 0;
}

static bool add_tensor(struct simulation * s, const struct ggs_paging_weight * w) {
    uint64_t model = s->sequence->n_pages * s->sequence->page;
    if (w->n_experts > MOST_EXPERTS || s->n_experts + w->n_experts > MOST_IN_ALL || w->size > model) return false;
    s->expert_bytes += w->n_experts * w->size;
    if (s->expert_bytes > model) return false;
    uint64_t at                = s->sequence->first_page[w->file] * s->sequence->page + w->offset;
    s->tensors[s->n_tensors++] = (struct tensor){.first  = (uint32_t) s->n_experts,
                                                 .n      = (uint32_t) w->n_experts,
                                                 .begin  = at - (uint64_t) w->expert * w->size,
                                                 .bytes  = w->size,
                                                 .weight = 1};
    s->n_experts += w->n_experts;
    return true;
}

static bool list(struct simulation * s) {
    memset(s->weight_of, 0xff, s->sequence->n_blocks * sizeof(*s->weight_of));
    for (uint32_t i = 0; i < s->weights->n; i++) {
        const struct ggs_paging_weight * w = &s->weights->weight[i];
        if (w->expert >= 0) {
            if ((i == 0 || !same_tensor(w, w - 1)) && !add_tensor(s, w)) return false;
        } else if (is_router(w) || (w->size >= GGS_STREAM_SMALL && is_whole(s, w))) {
            s->dense[s->n_dense++] = aligned(w->size);
            s->dense_bytes += aligned(w->size);
        } else {
            continue; // left to the page cache, which holds it
        }
        for (uint32_t b = w->first_block; b < w->first_block + w->n_blocks; b++) s->weight_of[b] = i;
    }
    return true;
}

// ---- the reads ----

// The op's experts are known: reads those without a slot into the slots of the least often chosen
// ones.
static void choose(struct simulation * s, struct tensor * t, enum ggs_read_class class_) {
    t->clock++;
    ggs_stream_age(&t->weight, s->score + t->first, t->n);
    for (uint32_t i = 0; i < s->n_chosen; i++) s->score[s->chosen[i]] += t->weight;
    uint64_t filled = 0;
    for (uint32_t i = t->first; i < t->first + t->n; i++) filled += s->used[i] > 0;
    bool all = s->n_chosen > t->slots && s->n_chosen > t->n - t->n / 5; // read before they are chosen
    for (uint32_t i = t->first; all && i < t->first + t->n; i++)
        if (s->used[i] == 0) s->cost->bytes[class_] += t->bytes;
    for (uint32_t i = 0; !all && i < s->n_chosen; i++)
        if (s->used[s->chosen[i]] == 0) s->cost->bytes[class_] += t->bytes;
    for (uint32_t i = 0; i < s->n_chosen; i++) { // those beyond the slots are dropped after the op
        bool there = s->used[s->chosen[i]] > 0;
        if (!there && s->n_chosen > t->slots && filled >= t->slots) continue;
        filled += !there;
        s->used[s->chosen[i]] = t->clock;
    }
    for (; filled > t->slots; filled--) {
        uint32_t least = NONE;
        for (uint32_t i = t->first; i < t->first + t->n; i++) {
            if (s->used[i] == 0 || s->used[i] == t->clock) continue;
            if (least == NONE || s->score[i] < s->score[least]) least = i;
        }
        if (least != NONE) s->used[least] = 0;
    }
}

// The disk fills empty slots while it is idle, with the experts chosen most often; mostly before
// the second token.
static void fill(struct simulation * s) {
    for (uint64_t k = 0; k < s->n_tensors && s->divided && !s->shared; k++) {
        const struct tensor * t      = &s->tensors[k];
        uint64_t              filled = 0;
        for (uint32_t i = t->first; i < t->first + t->n; i++) filled += s->used[i] > 0;
        for (; filled < t->slots; filled++) {
            uint32_t best = NONE;
            for (uint32_t i = t->first; i < t->first + t->n; i++) {
                if (s->used[i] == 0 && (best == NONE || s->score[i] > s->score[best])) best = i;
            }
            s->used[best] = 1;
            s->cost->bytes[s->sequence->spans[0].class_] += t->bytes;
        }
    }
}

static void settle(struct simulation * s, enum ggs_read_class class_) {
    if (s->n_chosen == 0) return;
    struct tensor * t = &s->tensors[s->choosing];
    if (!s->divided) { // only counts the experts of a token
        if (t->least == 0 || s->n_chosen < t->least) t->least = s->n_chosen;
    } else if (s->shared) {
        s->cost->bytes[class_] += s->n_chosen * t->bytes;
    } else {
        choose(s, t, class_);
    }
    s->n_chosen = 0;
}

static void use_dense(struct simulation * s, uint32_t weight, enum ggs_read_class class_) {
    settle(s, class_);
    s->cost->bytes[class_] += (uint64_t) ceil(s->streamed * (double) s->weights->weight[weight].size);
}

static void use_expert(struct simulation * s, uint32_t tensor, uint32_t expert, enum ggs_read_class class_) {
    if (tensor != s->choosing) settle(s, class_);
    s->choosing = tensor;
    for (uint32_t i = 0; i < s->n_chosen; i++)
        if (s->chosen[i] == expert) return;
    s->chosen[s->n_chosen++] = expert;
}

// Uses the experts that lie in the pages of a read as a whole. Others share its first or last page.
static void use_experts(struct simulation * s, const struct ggs_page_read * read, enum ggs_read_class class_) {
    const uint32_t * begin = s->sequence->begin;
    uint64_t low = begin[read->first] * s->sequence->page, high = begin[read->first + read->n] * s->sequence->page;
    uint64_t first = 0, end = s->n_tensors;
    while (first < end) { // the first tensor that ends behind `low`
        uint64_t              middle = first + (end - first) / 2;
        const struct tensor * t      = &s->tensors[middle];
        if (t->begin + t->n * t->bytes <= low) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    for (; first < s->n_tensors && s->tensors[first].begin < high; first++) {
        const struct tensor * t = &s->tensors[first];
        uint64_t              i = low <= t->begin ? 0 : (low - t->begin + t->bytes - 1) / t->bytes;
        for (; i < t->n && t->begin + (i + 1) * t->bytes <= high; i++)
            use_expert(s, (uint32_t) first, t->first + (uint32_t) i, class_);
    }
}

static void walk(struct simulation * s) {
    uint64_t next = 0;
    for (uint64_t span = 0; span < s->sequence->n_spans; span++) {
        enum ggs_read_class class_ = s->sequence->spans[span].class_;
        for (; next < s->sequence->spans[span].end; next++) {
            const struct ggs_page_read * read = &s->sequence->reads[next];
            for (uint32_t b = read->first; b < read->first + read->n && class_ != GGS_READ_LOAD; b++) {
                uint32_t w = s->weight_of[b];
                if (w == NONE && !s->seen[b]) {
                    s->seen[b] = true;
                    s->cost->bytes[class_] += ggs_block_pages(s->sequence, b) * s->sequence->page;
                }
                if (w != NONE && s->weights->weight[w].expert < 0 && b == s->weights->weight[w].first_block)
                    use_dense(s, w, class_);
            }
            if (class_ != GGS_READ_LOAD) use_experts(s, read, class_);
        }
        settle(s, class_);
        if (class_ != GGS_READ_LOAD) fill(s);
    }
}

// ---- division of memory ----

static uint64_t slot_bytes(const struct tensor * t) {
    return (t->bytes + 3 * SECTOR - 1) / SECTOR * SECTOR; // a part of a sector at each end
}

// Sets the number of slots of each tensor. Returns the maximum bytes of a tensor that experts
// without a slot need.
static uint64_t count_slots(struct simulation * s, const struct ggs_stream_plan * plan, uint64_t memory) {
    uint64_t rest = memory % plan->one_slot_each, used = 0, most = 0;
    for (uint64_t i = 0; i < s->n_tensors; i++) {
        struct tensor * t     = &s->tensors[i];
        uint64_t        slots = memory / plan->one_slot_each, slot = slot_bytes(t);
        slots += ggs_stream_one_more(rest, &used, i, s->n_tensors, slot);
        t->slots       = slots < t->n ? slots : t->n;
        uint64_t bytes = slot * (t->n - t->slots);
        if (bytes > most) most = bytes;
    }
    return most;
}

static void place_slots(struct simulation * s, const struct ggs_stream_plan * plan, uint64_t memory) {
    uint64_t least = count_slots(s, plan, memory);
    for (int i = 0; i < 2; i++) {
        struct ggs_stream_chunks c    = ggs_stream_chunks(plan->spare, least);
        uint64_t                 more = c.n * c.bytes > plan->spare ? c.n * c.bytes - plan->spare : 0;
        least                         = count_slots(s, plan, memory > more ? memory - more : 0);
    }
}

static bool divide(struct simulation * s, uint64_t memory) {
    struct ggs_stream_plan plan    = {.dense = s->dense, .n_dense = s->n_dense};
    uint64_t               reserve = ggs_stream_reserve(memory);
    for (uint64_t i = 0; i < s->n_tensors; i++) {
        const struct tensor * t     = &s->tensors[i];
        uint64_t              slot  = slot_bytes(t);
        uint64_t              whole = t->n * slot;
        plan.one_slot_each += slot;
        plan.least_slots += slot * (t->least + 1);
        plan.all_slots += slot * t->n;
        if (whole > plan.largest_experts) plan.largest_experts = whole;
    }
    if (memory <= reserve || s->dense_bytes + s->expert_bytes + reserve / 2 <= memory) return false;
    if (!ggs_stream_plan(&plan, memory - reserve)) return false;
    uint64_t kept = s->dense_bytes < plan.kept ? s->dense_bytes : plan.kept;
    s->streamed   = s->dense_bytes == 0 ? 0 : 1 - (double) kept / (double) s->dense_bytes;
    s->shared     = s->n_tensors > 0 && plan.slots == 0;
    s->divided    = true;
    if (s->n_tensors > 0 && !s->shared) place_slots(s, &plan, plan.slots + plan.kept - kept);
    s->cost->bytes[s->sequence->spans[0].class_] = kept; // at load, or with the first reads
    return true;
}

int ggs_paging_stream(struct ggs_paging_cost * cost, bool * streams, const struct ggs_paging_weights * weights,
                      const struct ggs_paging_sequence * sequence, uint64_t memory, struct ggs_error * error) {
    size_t            n      = weights->n + (size_t) 1;
    struct simulation s      = {.weights   = weights,
                                .sequence  = sequence,
                                .weight_of = malloc((sequence->n_blocks + (size_t) 1) * sizeof(uint32_t)),
                                .tensors   = calloc(n, sizeof(struct tensor)),
                                .dense     = malloc(n * sizeof(uint64_t)),
                                .seen      = calloc(sequence->n_blocks + (size_t) 1, sizeof(bool)),
                                .choosing  = NONE,
                                .cost      = cost};
    bool              ok     = s.weight_of != NULL && s.tensors != NULL && s.dense != NULL && s.seen != NULL;
    bool              listed = ok && list(&s);
    if (listed) {
        s.used   = calloc(s.n_experts + 1, sizeof(*s.used));
        s.score  = calloc(s.n_experts + 1, sizeof(*s.score));
        s.chosen = malloc((s.n_experts + 1) * sizeof(*s.chosen));
        ok       = s.used != NULL && s.score != NULL && s.chosen != NULL;
    }
    *cost    = (struct ggs_paging_cost){0};
    *streams = false;
    if (ok && listed) {
        walk(&s); // without slots: counts the experts of a token
        *cost       = (struct ggs_paging_cost){0};
        bool loaded = sequence->n_spans > 0 && sequence->spans[0].class_ == GGS_READ_LOAD;
        memset(s.seen, loaded, sequence->n_blocks * sizeof(bool));
        *streams = sequence->n_spans > 0 && divide(&s, memory);
        if (*streams) walk(&s);
    }
    free(s.weight_of);
    free(s.tensors);
    free(s.used);
    free(s.score);
    free(s.dense);
    free(s.chosen);
    free(s.seen);
    return ok ? 0 : ggs_fail_memory(error);
}
