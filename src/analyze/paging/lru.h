// The least-recently-used cache, for all sizes at once.
#pragma once

#include <stdint.h>

#include "analyze/paging/linux.h"
#include "analyze/paging/sequence.h"

// The number of pages read at a stack distance: hits in a cache of at least that many pages, misses
// in a smaller one.
struct ggs_paging_distance {
    uint64_t pages;
    uint64_t count[GGS_READ_CLASSES];
};

struct ggs_paging_lru {
    uint64_t                     page;
    struct ggs_paging_distance * distances; // ascending
    uint64_t                     n;
    uint64_t                     first[GGS_READ_CLASSES]; // first reads: misses in any cache
    uint64_t                     all[GGS_READ_CLASSES];   // pages read
};

int  ggs_paging_lru_compute(struct ggs_paging_lru * lru, const struct ggs_paging_sequence * sequence,
                            struct ggs_error * error);
void ggs_paging_lru_release(struct ggs_paging_lru * lru); // a zeroed struct is fine

// The bytes that a cache of this size reads. Linear in the number of distances.
struct ggs_paging_cost ggs_paging_lru_cost(const struct ggs_paging_lru * lru, uint64_t memory);
