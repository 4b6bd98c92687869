// The least-recently-used cache of every size at once.
#pragma once

#include <stdint.h>

#include "analyze/paging/linux.h"
#include "analyze/paging/sequence.h"

// How many pages were read at a stack distance: a cache of so many pages or more has them, a
// smaller one has not.
struct ggs_paging_distance {
    uint64_t pages;
    uint64_t count[GGS_READ_CLASSES];
};

struct ggs_paging_lru {
    uint64_t                     page;
    struct ggs_paging_distance * distances; // ascending
    uint64_t                     n;
    uint64_t                     first[GGS_READ_CLASSES]; // pages that are read for the first time: no cache has them
    uint64_t                     all[GGS_READ_CLASSES];   // pages read
};

int  ggs_paging_lru_compute(struct ggs_paging_lru * lru, const struct ggs_paging_sequence * sequence,
                            struct ggs_error * error);
void ggs_paging_lru_release(struct ggs_paging_lru * lru); // a zeroed struct is fine

// What a cache of this size would read. Linear in the number of distances.
struct ggs_paging_cost ggs_paging_lru_cost(const struct ggs_paging_lru * lru, uint64_t memory);
