#include "analyze/paging-opt.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { NEVER = UINT32_MAX };

int ggs_paging_opt_init(struct ggs_paging_opt * opt, const struct ggs_paging_sequence * sequence,
                        struct ggs_error * error) {
    uint64_t all = ggs_paging_sequence_accesses(sequence);
    *opt         = (struct ggs_paging_opt){.sequence = sequence};
    if (all >= NEVER)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "the recording is too long for the optimum; choose tokens with --token");
    opt->next       = malloc((all + 1) * sizeof(*opt->next));
    uint32_t * soon = malloc((sequence->n_blocks + (size_t) 1) * sizeof(*soon)); // by block: when it is read next
    if (opt->next == NULL || soon == NULL) {
        free(soon);
        ggs_paging_opt_release(opt);
        return ggs_fail_memory(error);
    }
    memset(soon, 0xff, sequence->n_blocks * sizeof(*soon));
    uint64_t at = all;
    for (uint64_t r = sequence->n_reads; r-- > 0;) {
        const struct ggs_page_read * read = &sequence->reads[r];
        for (uint32_t i = read->n; i-- > 0;) {
            opt->next[--at]       = soon[read->first + i];
            soon[read->first + i] = (uint32_t) at;
        }
    }
    free(soon);
    return 0;
}

void ggs_paging_opt_release(struct ggs_paging_opt * opt) {
    free(opt->next);
    *opt = (struct ggs_paging_opt){0};
}

// ---- what is held: a heap of blocks, the one that is needed last on top ----

struct held {
    uint32_t * heap; // blocks
    uint32_t * at;   // by block: where in the heap; NEVER: not there
    uint32_t * need; // by block: when it is read next
    uint32_t * kept; // by block: pages
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

static void take_out(struct held * held, uint32_t block) {
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
    rise(held, held->at[block]); // it is needed later than before
}

static void drop_to(struct held * held, uint64_t limit) {
    while (held->pages > limit) {
        uint32_t block = held->heap[0];
        uint64_t over  = held->pages - limit;
        if (over >= held->kept[block]) {
            take_out(held, block);
        } else {
            held->kept[block] -= (uint32_t) over;
            held->pages = limit;
        }
    }
}

static uint64_t read_blocks(const struct ggs_paging_opt * opt, struct held * held, const struct ggs_page_read * read,
                            uint64_t at, uint64_t limit) {
    uint64_t missing = 0;
    for (uint32_t i = 0; i < read->n; i++) {
        uint32_t block = read->first + i, pages = ggs_block_pages(opt->sequence, block), need = opt->next[at + i];
        missing += pages - held->kept[block];
        if (need != NEVER) {
            keep(held, block, pages, need);
            drop_to(held, limit);
        } else if (held->at[block] != NEVER) {
            take_out(held, block);
        }
    }
    return missing;
}

int ggs_paging_opt_cost(const struct ggs_paging_opt * opt, struct ggs_paging_cost * cost, uint64_t memory,
                        struct ggs_error * error) {
    const struct ggs_paging_sequence * sequence = opt->sequence;
    size_t                             n        = sequence->n_blocks + (size_t) 1;
    uint64_t                           next = 0, at = 0, limit = memory / sequence->page;
    struct held held = {.heap = calloc(n, 4), .at = malloc(4 * n), .need = calloc(n, 4), .kept = calloc(n, 4)};
    int         status =
        held.heap == NULL || held.at == NULL || held.need == NULL || held.kept == NULL ? ggs_fail_memory(error) : 0;
    *cost = (struct ggs_paging_cost){0};
    if (status == 0) memset(held.at, 0xff, 4 * n);
    for (uint64_t s = 0; status == 0 && s < sequence->n_spans; s++) {
        for (; next < sequence->spans[s].end; next++) {
            cost->bytes[sequence->spans[s].class_] +=
                sequence->page * read_blocks(opt, &held, &sequence->reads[next], at, limit);
            at += sequence->reads[next].n;
        }
    }
    free(held.heap);
    free(held.at);
    free(held.need);
    free(held.kept);
    return status;
}
