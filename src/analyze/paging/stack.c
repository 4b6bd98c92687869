#include "analyze/paging/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int ggs_paging_stack_init(struct ggs_paging_stack * stack, const struct ggs_paging_sequence * sequence,
                          struct ggs_error * error) {
    size_t slots = 2 * (size_t) sequence->n_blocks + 64; // room for that many reads until slots are renumbered
    *stack       = (struct ggs_paging_stack){.sequence = sequence,
                                             .slots    = (uint32_t) slots,
                                             .slot     = calloc(sequence->n_blocks + (size_t) 1, sizeof(*stack->slot)),
                                             .block    = calloc(slots + 1, sizeof(*stack->block)),
                                             .tree     = calloc(slots + 1, sizeof(*stack->tree))};
    if (stack->slot != NULL && stack->block != NULL && stack->tree != NULL) return 0;
    ggs_paging_stack_release(stack);
    return ggs_fail_memory(error);
}

void ggs_paging_stack_release(struct ggs_paging_stack * stack) {
    free(stack->slot);
    free(stack->block);
    free(stack->tree);
    *stack = (struct ggs_paging_stack){0};
}

static void add(struct ggs_paging_stack * stack, uint32_t slot, uint32_t pages) {
    for (; slot <= stack->slots; slot += slot & -slot) stack->tree[slot] += pages;
}

static uint32_t sum_to(const struct ggs_paging_stack * stack, uint32_t slot) {
    uint32_t sum = 0;
    for (; slot > 0; slot -= slot & -slot) sum += stack->tree[slot];
    return sum;
}

// Closes the gaps left by blocks that moved up.
static void renumber(struct ggs_paging_stack * stack) {
    uint32_t kept = 0;
    for (uint32_t i = 1; i <= stack->used; i++) {
        uint32_t block = stack->block[i];
        if (stack->slot[block] != i) continue;
        stack->block[++kept] = block;
        stack->slot[block]   = kept;
    }
    stack->used = kept;
    memset(stack->tree, 0, (stack->slots + (size_t) 1) * sizeof(*stack->tree));
    for (uint32_t i = 1; i <= kept; i++) stack->tree[i] = ggs_block_pages(stack->sequence, stack->block[i]);
    for (uint32_t i = 1; i <= stack->slots; i++) {
        uint32_t above = i + (i & -i);
        if (above <= stack->slots) stack->tree[above] += stack->tree[i];
    }
}

uint32_t ggs_paging_stack_read(struct ggs_paging_stack * stack, uint32_t block) {
    uint32_t pages = ggs_block_pages(stack->sequence, block), distance = 0;
    if (stack->used == stack->slots) renumber(stack);
    if (stack->slot[block] == 0) {
        stack->pages += pages;
    } else {
        distance = stack->pages - sum_to(stack, stack->slot[block]) + pages;
        add(stack, stack->slot[block], 0 - pages);
    }
    stack->slot[block]        = ++stack->used;
    stack->block[stack->used] = block;
    add(stack, stack->used, pages);
    return distance;
}
