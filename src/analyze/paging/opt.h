// Belady's optimum: what a cache would read that knows all reads to come, and drops what is needed
// last.
//
// A bound for each class by itself: whatever was held or dropped before, no policy that reads pages
// when they are needed reads less for it. The cache begins each stretch of a class with the
// contents that are best for it, or empty if nothing came before. A page that is needed later than
// all that is held is passed through without being kept. Exact to the page: the pages of a block
// are needed one after the other, so of a block the last ones are dropped first, and what is held
// of it is always its beginning. Memory: 4 bytes per read of a block, which is where the length of
// the recording shows.
#pragma once

#include "analyze/paging/linux.h"

// When each read's block is read next, by position in the sequence of all reads of blocks. Computed
// once for all budgets.
struct ggs_paging_opt {
    const struct ggs_paging_sequence * sequence;
    uint32_t *                         next;
    uint32_t *                         first; // by block: when it is read first
};

int  ggs_paging_opt_init(struct ggs_paging_opt * opt, const struct ggs_paging_sequence * sequence,
                         struct ggs_error * error);
void ggs_paging_opt_release(struct ggs_paging_opt * opt); // a zeroed struct is fine

int ggs_paging_opt_cost(const struct ggs_paging_opt * opt, struct ggs_paging_cost * cost, uint64_t memory,
                        struct ggs_error * error);
