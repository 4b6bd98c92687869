// Blocks in the order of their last use. Reading one gives its stack distance: how many pages a
// least-recently-used cache must hold so that this read finds the block in it. Mattson's algorithm
// on blocks: the pages of a block are always read together and in order, so between two reads of
// any of them lie all others of the block, and what else was read since: one distance for all.
//
// A read costs O(log blocks). Memory: some 20 bytes per block.
#pragma once

#include <stdint.h>

#include "analyze/paging/sequence.h"

struct ggs_paging_stack {
    const struct ggs_paging_sequence * sequence;
    uint32_t *                         slot;  // by block: where it is in the order of use; 0: nowhere
    uint32_t *                         block; // by slot
    uint32_t *                         tree;  // sums of pages by slot (a Fenwick tree)
    uint32_t                           slots, used;
    uint32_t                           pages; // of all blocks that were read
};

int  ggs_paging_stack_init(struct ggs_paging_stack * stack, const struct ggs_paging_sequence * sequence,
                           struct ggs_error * error);
void ggs_paging_stack_release(struct ggs_paging_stack * stack); // a zeroed struct is fine

// The distance in pages; 0 if the block is read for the first time.
uint32_t ggs_paging_stack_read(struct ggs_paging_stack * stack, uint32_t block);
