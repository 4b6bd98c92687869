#include "analyze/paging/stream-simulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/stream-plan.h"

enum { BLOCK = 4096, SECTOR = 512, NONE = 0xffffffffu };

// A tensor with experts: weights first .. first + n - 1 of the list.
struct tensor {
    uint32_t first, n;
    uint64_t slots, clock;
    uint64_t least;  // smallest number of experts chosen by an op: one token's
    double   weight; // of the next choice
};

struct simulation {
    const struct ggs_paging_weights *  weights;
    const struct ggs_paging_sequence * sequence;
    uint32_t *                         weight_of; // by block, NONE for none
    uint32_t *                         tensor_of; // by weight, NONE for a dense one
    struct tensor *                    tensors;
    uint64_t *                         used;  // by weight: the tensor's clock at its last use; 0: not in a slot
    double *                           score; // by weight: how often it was chosen, with recent choices counting more
    uint64_t *                         dense; // sizes of the dense ones that are read as a whole
    uint64_t                           n_dense, dense_bytes, n_tensors;
    double                             streamed;           // share of the dense bytes
    uint32_t *                         chosen;             // the experts of the current op
    uint32_t                           n_chosen, choosing; // and their tensor
    bool                               shared;             // there are no slots: nothing stays
    struct ggs_paging_cost *           cost;
    bool *                             seen; // by block left to the page cache: resident
};

// In whole pages, like all policies. The library reads experts to the sector.
static uint64_t bytes_of(const struct simulation * s, uint32_t weight) {
    return s->weights->weight[weight].pages * s->sequence->page;
}

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

static bool same_tensor(const struct ggs_paging_weight * a, const struct ggs_paging_weight * b) {
    return a->expert >= 0 && b->expert >= 0 && a->file == b->file && strcmp(a->name, b->name) == 0;
}

static void list(struct simulation * s) {
    memset(s->weight_of, 0xff, s->sequence->n_blocks * sizeof(*s->weight_of));
    for (uint32_t i = 0; i < s->weights->n; i++) {
        const struct ggs_paging_weight * w = &s->weights->weight[i];
        s->tensor_of[i]                    = NONE;
        if (w->expert >= 0) {
            if (i == 0 || !same_tensor(w, w - 1)) s->tensors[s->n_tensors++] = (struct tensor){.first = i, .weight = 1};
            s->tensors[s->n_tensors - 1].n++;
            s->tensor_of[i] = (uint32_t) s->n_tensors - 1;
        } else if (w->size >= GGS_STREAM_SMALL && is_whole(s, w)) {
            s->dense[s->n_dense++] = aligned(w->size);
            s->dense_bytes += aligned(w->size);
        } else {
            continue; // left to the page cache, which holds it
        }
        for (uint32_t b = w->first_block; b < w->first_block + w->n_blocks; b++) s->weight_of[b] = i;
    }
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
        if (s->used[i] == 0) s->cost->bytes[class_] += bytes_of(s, i);
    for (uint32_t i = 0; !all && i < s->n_chosen; i++)
        if (s->used[s->chosen[i]] == 0) s->cost->bytes[class_] += bytes_of(s, s->chosen[i]);
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

static void settle(struct simulation * s, enum ggs_read_class class_) {
    if (s->n_chosen == 0) return;
    struct tensor * t = &s->tensors[s->choosing];
    if (t->slots == 0) { // memory is not divided yet: only counts the experts of a token
        if (t->least == 0 || s->n_chosen < t->least) t->least = s->n_chosen;
    } else if (s->shared) {
        for (uint32_t i = 0; i < s->n_chosen; i++) s->cost->bytes[class_] += bytes_of(s, s->chosen[i]);
    } else {
        choose(s, t, class_);
    }
    s->n_chosen = 0;
}

static void use(struct simulation * s, uint32_t weight, enum ggs_read_class class_) {
    uint32_t tensor = s->tensor_of[weight];
    if (tensor == NONE || tensor != s->choosing) settle(s, class_);
    s->choosing = tensor;
    if (tensor == NONE) {
        s->cost->bytes[class_] += (uint64_t) ceil(s->streamed * (double) bytes_of(s, weight));
        return;
    }
    for (uint32_t i = 0; i < s->n_chosen; i++)
        if (s->chosen[i] == weight) return;
    s->chosen[s->n_chosen++] = weight;
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
                if (w != NONE && b == s->weights->weight[w].first_block) use(s, w, class_);
            }
        }
        settle(s, class_);
    }
}

// ---- division of memory ----

// Of the largest expert, because the first and last may share pages with neighbours.
static uint64_t slot_bytes(const struct simulation * s, const struct tensor * t) {
    uint64_t most = 0;
    for (uint32_t i = t->first; i < t->first + t->n; i++) most = bytes_of(s, i) > most ? bytes_of(s, i) : most;
    return most + 2 * SECTOR;
}

static bool divide(struct simulation * s, uint64_t memory) {
    struct ggs_stream_plan plan    = {.dense = s->dense, .n_dense = s->n_dense};
    uint64_t               reserve = ggs_stream_reserve(memory), experts = 0;
    for (uint64_t i = 0; i < s->n_tensors; i++) {
        const struct tensor * t     = &s->tensors[i];
        uint64_t              slot  = slot_bytes(s, t);
        uint64_t              whole = t->n * s->weights->weight[t->first].size;
        plan.one_slot_each += slot;
        plan.least_slots += slot * (t->least + 1);
        plan.all_slots += slot * t->n;
        experts += whole;
        if (whole > plan.largest_experts) plan.largest_experts = whole;
    }
    if (memory <= reserve || s->dense_bytes + experts + reserve / 2 <= memory) return false;
    if (!ggs_stream_plan(&plan, memory - reserve)) return false;
    uint64_t kept = s->dense_bytes < plan.kept ? s->dense_bytes : plan.kept;
    s->streamed   = s->dense_bytes == 0 ? 0 : 1 - (double) kept / (double) s->dense_bytes;
    uint64_t left = plan.slots + plan.kept - kept, more = 0;
    s->shared = s->n_tensors > 0 && plan.slots == 0;
    for (uint64_t i = 0; i < s->n_tensors; i++) {
        struct tensor * t = &s->tensors[i];
        t->slots          = left / plan.one_slot_each;
        t->slots += ggs_stream_one_more(left % plan.one_slot_each, &more, i, s->n_tensors, slot_bytes(s, t));
        if (s->shared) t->slots = t->n; // not 0: memory is divided
    }
    s->cost->bytes[s->sequence->spans[0].class_] = kept; // at load, or with the first reads
    return true;
}

int ggs_paging_stream(struct ggs_paging_cost * cost, bool * streams, const struct ggs_paging_weights * weights,
                      const struct ggs_paging_sequence * sequence, uint64_t memory, struct ggs_error * error) {
    size_t            n = weights->n + (size_t) 1;
    struct simulation s = {.weights   = weights,
                           .sequence  = sequence,
                           .weight_of = malloc((sequence->n_blocks + (size_t) 1) * sizeof(uint32_t)),
                           .tensor_of = malloc(n * sizeof(uint32_t)),
                           .tensors   = calloc(n, sizeof(struct tensor)),
                           .used      = calloc(n, sizeof(uint64_t)),
                           .score     = calloc(n, sizeof(double)),
                           .dense     = malloc(n * sizeof(uint64_t)),
                           .chosen    = malloc(n * sizeof(uint32_t)),
                           .seen      = calloc(sequence->n_blocks + (size_t) 1, sizeof(bool)),
                           .choosing  = NONE,
                           .cost      = cost};
    bool ok = s.weight_of != NULL && s.tensor_of != NULL && s.tensors != NULL && s.used != NULL && s.score != NULL &&
              s.dense != NULL && s.chosen != NULL && s.seen != NULL;
    *cost    = (struct ggs_paging_cost){0};
    *streams = false;
    if (ok) {
        list(&s);
        walk(&s); // without slots: counts the experts of a token
        *cost       = (struct ggs_paging_cost){0};
        bool loaded = sequence->n_spans > 0 && sequence->spans[0].class_ == GGS_READ_LOAD;
        memset(s.seen, loaded, sequence->n_blocks * sizeof(bool));
        *streams = sequence->n_spans > 0 && divide(&s, memory);
        if (*streams) walk(&s);
    }
    free(s.weight_of);
    free(s.tensor_of);
    free(s.tensors);
    free(s.used);
    free(s.score);
    free(s.dense);
    free(s.chosen);
    free(s.seen);
    return ok ? 0 : ggs_fail_memory(error);
}
