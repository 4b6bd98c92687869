// Belady's optimum: the bytes read by a cache that knows all future reads and evicts what is needed
// last.
//
// This is a bound for each class separately: whatever was held before, no policy that reads on
// demand reads less for it. The cache begins each stretch of a class with the best contents for it,
// or empty if nothing came before. A page that is needed later than everything held is not kept.
// The result is exact to the page: pages of a block are needed in order, so the last ones are
// evicted first, and the cache always holds the beginning of a block. Memory: 4 bytes per read of a
// block, proportional to the length of the recording.
#pragma once

#include "analyze/paging/linux.h"

// The time of the next read of each read's block, by position in the sequence of reads of blocks.
// Computed once for all budgets.
struct ggs_paging_opt {
    const struct ggs_paging_sequence * sequence;
    uint32_t *                         next;
    uint32_t *                         first; // by block: time of its first read
};

int  ggs_paging_opt_init(struct ggs_paging_opt * opt, const struct ggs_paging_sequence * sequence,
                         struct ggs_error * error);
void ggs_paging_opt_release(struct ggs_paging_opt * opt); // a zeroed struct is fine

int ggs_paging_opt_cost(const struct ggs_paging_opt * opt, struct ggs_paging_cost * cost, uint64_t memory,
                        struct ggs_error * error);
