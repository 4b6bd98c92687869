// Blocks in the order of their last use. Reading one yields its stack distance: the number of pages
// a least-recently-used cache needs for a hit. This is Mattson's algorithm on blocks: the pages of
// a block are always read together and in order, so all of them have the same distance.
//
// A read costs O(log blocks). Memory: some 20 bytes per block.
#pragma once

#include <stdint.h>

#include "analyze/paging/sequence.h"

struct ggs_paging_stack {
    const struct ggs_paging_sequence * sequence;
    uint32_t *                         slot;  // by block: position in the order of use; 0: none
    uint32_t *                         block; // by slot
    uint32_t *                         tree;  // sums of pages by slot (a Fenwick tree)
    uint32_t                           slots, used;
    uint32_t                           pages; // of all blocks read so far
};

int  ggs_paging_stack_init(struct ggs_paging_stack * stack, const struct ggs_paging_sequence * sequence,
                           struct ggs_error * error);
void ggs_paging_stack_release(struct ggs_paging_stack * stack); // a zeroed struct is fine

// Returns the distance in pages; 0 for the first read.
uint32_t ggs_paging_stack_read(struct ggs_paging_stack * stack, uint32_t block);
