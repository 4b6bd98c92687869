#include "analyze/paging/opt.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { NEVER = UINT32_MAX };

int ggs_paging_opt_init(struct ggs_paging_opt * opt, const struct ggs_paging_sequence * sequence,
                        struct ggs_error * error) {
    uint64_t all = ggs_paging_sequence_accesses(sequence);
    *opt         = (struct ggs_paging_opt){.sequence = sequence};
    opt->next    = malloc((all + 1) * sizeof(*opt->next));
    opt->first   = malloc((sequence->n_blocks + (size_t) 1) * sizeof(*opt->first));
    if (opt->next == NULL || opt->first == NULL) {
        ggs_paging_opt_release(opt);
        return ggs_fail_memory(error);
    }
    memset(opt->first, 0xff, sequence->n_blocks * sizeof(*opt->first));
    uint64_t at = all;
    for (uint64_t r = sequence->n_reads; r-- > 0;) {
        const struct ggs_page_read * read = &sequence->reads[r];
        for (uint32_t i = read->n; i-- > 0;) {
            opt->next[--at]             = opt->first[read->first + i];
            opt->first[read->first + i] = (uint32_t) at;
        }
    }
    return 0;
}

void ggs_paging_opt_release(struct ggs_paging_opt * opt) {
    free(opt->next);
    free(opt->first);
    *opt = (struct ggs_paging_opt){0};
}

// ---- cache contents: a heap of blocks, the one needed last on top ----

struct held {
    uint32_t * heap; // blocks
    uint32_t * at;   // by block: index in the heap; NEVER: not held
    uint32_t * need; // by block: time of its next read
    uint32_t * kept; // by block: pages
    uint32_t * soon; // by block: time of its next read, held or not
    uint32_t   n;
    uint64_t   pages;
};

static void put(struct held * held, uint32_t i, uint32_t block) {
    held->heap[i]   = block;
    held->at[block] = i;
}

static void rise(struct held * held, uint32_t i) {
    uint32_t block = held->heap[i];
    while (i > 0 && held->need[held->heap[(i - 1) / 2]] < held->need[block]) {
        put(held, i, held->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(held, i, block);
}

static void sink(struct held * held, uint32_t i) {
    uint32_t block = held->heap[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= held->n) break;
        if (child + 1 < held->n && held->need[held->heap[child + 1]] > held->need[held->heap[child]]) child++;
        if (held->need[held->heap[child]] <= held->need[block]) break;
        put(held, i, held->heap[child]);
        i = child;
    }
    put(held, i, block);
}

static void remove_block(struct held * held, uint32_t block) {
    uint32_t i = held->at[block], last = held->heap[--held->n];
    held->at[block] = NEVER;
    held->pages -= held->kept[block];
    held->kept[block] = 0;
    if (last == block) return;
    put(held, i, last);
    rise(held, i);
    sink(held, held->at[last]);
}

static void keep(struct held * held, uint32_t block, uint32_t pages, uint32_t need) {
    held->pages += pages - held->kept[block];
    held->kept[block] = pages;
    held->need[block] = need;
    if (held->at[block] == NEVER) put(held, held->n++, block);
    rise(held, held->at[block]); // it is now needed later
}

static void drop_to(struct held * held, uint64_t limit) {
    while (held->pages > limit) {
        uint32_t block = held->heap[0];
        uint64_t over  = held->pages - limit;
        if (over >= held->kept[block]) {
            remove_block(held, block);
        } else {
            held->kept[block] -= (uint32_t) over;
            held->pages = limit;
        }
    }
}

// ---- a class ----

struct stretch {
    uint64_t begin, end; // positions among all reads of blocks
    uint64_t limit;      // pages
};

// Fills the cache with what this stretch needs first, as far as it fits.
static void fill(const struct ggs_paging_opt * opt, struct held * held, const struct stretch * stretch) {
    while (held->n > 0) remove_block(held, held->heap[0]);
    for (uint32_t block = 0; block < opt->sequence->n_blocks; block++) {
        if (held->soon[block] >= stretch->end) continue;
        keep(held, block, ggs_block_pages(opt->sequence, block), held->soon[block]);
        drop_to(held, stretch->limit);
    }
}

// Serves the reads [*next, end) of a stretch; returns the number of missing pages. Without a cache
// it only notes the next reads of blocks.
static uint64_t serve(const struct ggs_paging_opt * opt, struct held * held, const struct stretch * stretch,
                      uint64_t * next, uint64_t end, bool cached) {
    uint64_t missing = 0, at = stretch->begin;
    for (; *next < end; ++*next) {
        const struct ggs_page_read * read = &opt->sequence->reads[*next];
        for (uint32_t block = read->first; block < read->first + read->n; block++, at++) {
            uint32_t pages    = ggs_block_pages(opt->sequence, block);
            held->soon[block] = opt->next[at];
            if (!cached) continue;
            missing += pages - held->kept[block];
            if (opt->next[at] < stretch->end) {
                keep(held, block, pages, opt->next[at]);
                drop_to(held, stretch->limit);
            } else if (held->at[block] != NEVER) {
                remove_block(held, block);
            }
        }
    }
    return missing;
}

static uint64_t accesses_of(const struct ggs_paging_sequence * sequence, uint64_t first, uint64_t end) {
    uint64_t n = 0;
    for (; first < end; first++) n += sequence->reads[first].n;
    return n;
}

static uint64_t class_cost(const struct ggs_paging_opt * opt, struct held * held, enum ggs_read_class class_,
                           uint64_t limit) {
    const struct ggs_paging_sequence * sequence = opt->sequence;
    struct stretch                     stretch  = {.limit = limit};
    uint64_t                           next = 0, missing = 0;
    memcpy(held->soon, opt->first, sequence->n_blocks * sizeof(*held->soon));
    for (uint64_t s = 0; s < sequence->n_spans; s++) {
        const struct ggs_read_span * span   = &sequence->spans[s];
        bool                         wanted = span->class_ == class_;
        stretch.end                         = stretch.begin + accesses_of(sequence, next, span->end);
        if (wanted && s > 0) fill(opt, held, &stretch);
        missing += serve(opt, held, &stretch, &next, span->end, wanted);
        stretch.begin = stretch.end;
    }
    while (held->n > 0) remove_block(held, held->heap[0]);
    return missing;
}

int ggs_paging_opt_cost(const struct ggs_paging_opt * opt, struct ggs_paging_cost * cost, uint64_t memory,
                        struct ggs_error * error) {
    size_t      n    = opt->sequence->n_blocks + (size_t) 1;
    struct held held = {
        .heap = calloc(n, 4), .at = malloc(4 * n), .need = calloc(n, 4), .kept = calloc(n, 4), .soon = calloc(n, 4)};
    bool made = held.heap != NULL && held.at != NULL && held.need != NULL && held.kept != NULL && held.soon != NULL;
    *cost     = (struct ggs_paging_cost){0};
    if (made) memset(held.at, 0xff, 4 * n);
    for (unsigned i = 0; made && i < GGS_READ_CLASSES; i++)
        cost->bytes[i] =
            opt->sequence->page * class_cost(opt, &held, (enum ggs_read_class) i, memory / opt->sequence->page);
    free(held.heap);
    free(held.at);
    free(held.need);
    free(held.kept);
    free(held.soon);
    return made ? 0 : ggs_fail_memory(error);
}
