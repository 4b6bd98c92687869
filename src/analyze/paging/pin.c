#include "analyze/paging/pin.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/paging/stack.h"
#include "base/error.h"

// Streaming needs a sixteenth of the memory, and at most this.
static const uint64_t MOST_STREAM = 64 << 20;

void ggs_paging_pins_release(struct ggs_paging_pins * pins) {
    free(pins->weight);
    *pins = (struct ggs_paging_pins){0};
}

struct pass {
    const struct ggs_paging_sequence * sequence;
    uint64_t                           limit;  // pages of the stream
    const bool *                       pinned; // by block; NULL: none
    bool *                             read;   // with `pinned`, by block: resident
    enum ggs_read_class                class_; // class counted in `missed`
    uint64_t *                         missed; // by block, may be NULL: number of misses
    struct ggs_paging_cost *           cost;   // may be NULL
};

static void read_blocks(const struct pass * pass, struct ggs_paging_stack * stack, const struct ggs_page_read * read,
                        enum ggs_read_class class_) {
    for (uint32_t i = 0; i < read->n; i++) {
        uint32_t block    = read->first + i;
        bool     pinned   = pass->pinned != NULL && pass->pinned[block];
        uint32_t distance = pinned ? 0 : ggs_paging_stack_read(stack, block);
        if (pinned ? pass->read[block] : distance != 0 && distance <= pass->limit) continue;
        if (pinned) pass->read[block] = true;
        if (pass->missed != NULL && class_ == pass->class_) pass->missed[block]++;
        if (pass->cost != NULL)
            pass->cost->bytes[class_] += ggs_block_pages(pass->sequence, block) * pass->sequence->page;
    }
}

static int run_pass(const struct pass * pass, struct ggs_error * error) {
    struct ggs_paging_stack stack;
    uint64_t                next   = 0;
    int                     status = ggs_paging_stack_init(&stack, pass->sequence, error);
    for (uint64_t s = 0; status == 0 && s < pass->sequence->n_spans; s++) {
        const struct ggs_read_span * span = &pass->sequence->spans[s];
        for (; next < span->end; next++) read_blocks(pass, &stack, &pass->sequence->reads[next], span->class_);
    }
    ggs_paging_stack_release(&stack);
    return status;
}

// ---- choosing ----

struct candidate {
    uint32_t weight;
    uint64_t pages;
    double   saved; // per page
};

static int by_saving(const void * a, const void * b) {
    const struct candidate *x = a, *y = b;
    if (x->saved != y->saved) return x->saved > y->saved ? -1 : 1;
    return x->weight < y->weight ? -1 : x->weight > y->weight;
}

static int by_number(const void * a, const void * b) {
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    return x < y ? -1 : x > y;
}

static double saved_per_page(const struct ggs_paging_weight * weight, const struct ggs_paging_sequence * sequence,
                             const uint64_t * missed) {
    uint64_t saved = 0;
    for (uint32_t b = weight->first_block; b < weight->first_block + weight->n_blocks; b++)
        saved += missed[b] * ggs_block_pages(sequence, b);
    return (double) saved / (double) weight->pages;
}

static int choose(struct ggs_paging_pins * pins, const struct ggs_paging_weights * weights,
                  const struct ggs_paging_sequence * sequence, const uint64_t * missed, uint64_t room,
                  struct ggs_error * error) {
    struct candidate * candidates = malloc((weights->n + 1) * sizeof(*candidates));
    pins->weight                  = malloc((weights->n + 1) * sizeof(*pins->weight));
    if (candidates == NULL || pins->weight == NULL) {
        free(candidates);
        return ggs_fail_memory(error);
    }
    for (uint64_t i = 0; i < weights->n; i++)
        candidates[i] = (struct candidate){(uint32_t) i, weights->weight[i].pages,
                                           saved_per_page(&weights->weight[i], sequence, missed)};
    qsort(candidates, weights->n, sizeof(*candidates), by_saving);
    uint64_t little = room / 32; // smaller gaps are not filled
    for (uint64_t i = 0; i < weights->n && candidates[i].saved > 0; i++) {
        if (candidates[i].pages > room && room < little) break;
        if (candidates[i].pages > room) continue;
        room -= candidates[i].pages;
        pins->bytes += candidates[i].pages * sequence->page;
        pins->weight[pins->n++] = candidates[i].weight;
    }
    free(candidates);
    qsort(pins->weight, pins->n, sizeof(*pins->weight), by_number);
    return 0;
}

// Only blocks that are read count: gaps between them are not kept.
static void mark(bool * pinned, const struct ggs_paging_pins * pins, const struct ggs_paging_weights * weights,
                 const struct ggs_paging_sequence * sequence) {
    for (uint64_t i = 0; i < pins->n; i++) {
        const struct ggs_paging_weight * w = &weights->weight[pins->weight[i]];
        for (uint32_t b = w->first_block; b < w->first_block + w->n_blocks; b++) pinned[b] = sequence->touched[b];
    }
}

static bool generates(const struct ggs_paging_sequence * sequence) {
    for (uint64_t i = 0; i < sequence->n_spans; i++) {
        if (sequence->spans[i].class_ == GGS_READ_GENERATE) return true;
    }
    return false;
}

int ggs_paging_pin(struct ggs_paging_pins * pins, struct ggs_paging_cost * cost,
                   const struct ggs_paging_weights * weights, const struct ggs_paging_sequence * sequence,
                   uint64_t memory, struct ggs_error * error) {
    uint64_t   stream  = memory / 16 < MOST_STREAM ? memory / 16 : MOST_STREAM;
    bool *     pinned  = calloc(sequence->n_blocks + (size_t) 1, sizeof(*pinned));
    bool *     read    = calloc(sequence->n_blocks + (size_t) 1, sizeof(*read));
    uint64_t * missed  = calloc(sequence->n_blocks + (size_t) 1, sizeof(*missed));
    *pins              = (struct ggs_paging_pins){0};
    *cost              = (struct ggs_paging_cost){0};
    struct pass pass   = {.sequence = sequence,
                          .limit    = stream / sequence->page,
                          .class_   = generates(sequence) ? GGS_READ_GENERATE : GGS_READ_PROMPT,
                          .missed   = missed};
    bool        enough = pinned != NULL && read != NULL && missed != NULL;
    int         status = enough ? run_pass(&pass, error) : ggs_fail_memory(error);
    if (status == 0) status = choose(pins, weights, sequence, missed, (memory - stream) / sequence->page, error);
    if (status == 0) {
        mark(pinned, pins, weights, sequence);
        pins->stream = memory - pins->bytes;
        pass         = (struct pass){
                    .sequence = sequence, .limit = pins->stream / sequence->page, .pinned = pinned, .read = read, .cost = cost};
        status = run_pass(&pass, error);
    }
    if (status < 0) ggs_paging_pins_release(pins);
    free(pinned);
    free(read);
    free(missed);
    return status;
}
