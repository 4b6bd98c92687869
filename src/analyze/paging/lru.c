#include "analyze/paging/lru.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/paging/stack.h"
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

// There are few distinct distances if every token takes the same path, and at most one per page.
struct table {
    struct ggs_paging_distance * entries;
    uint64_t                     n, capacity;
    struct ggs_map               by_distance; // entry + 1
};

static bool count(struct table * table, uint64_t distance, enum ggs_read_class class_, uint64_t pages) {
    uint64_t * place = ggs_map_put(&table->by_distance, ggs_map_key_number(distance));
    if (place == NULL) return false;
    if (*place == 0) {
        struct ggs_paging_distance entry = {.pages = distance};
        if (!ggs_array_push(table->entries, table->n, table->capacity, entry)) return false;
        *place = table->n;
    }
    table->entries[*place - 1].count[class_] += pages;
    return true;
}

static int by_distance(const void * a, const void * b) {
    const struct ggs_paging_distance *x = a, *y = b;
    return x->pages < y->pages ? -1 : x->pages > y->pages;
}

static bool read_blocks(struct ggs_paging_lru * lru, struct table * table, struct ggs_paging_stack * stack,
                        const struct ggs_page_read * read, enum ggs_read_class class_) {
    for (uint32_t i = 0; i < read->n; i++) {
        uint32_t pages    = ggs_block_pages(stack->sequence, read->first + i);
        uint32_t distance = ggs_paging_stack_read(stack, read->first + i);
        lru->all[class_] += pages;
        if (distance == 0) {
            lru->first[class_] += pages;
        } else if (!count(table, distance, class_, pages)) {
            return false;
        }
    }
    return true;
}

int ggs_paging_lru_compute(struct ggs_paging_lru * lru, const struct ggs_paging_sequence * sequence,
                           struct ggs_error * error) {
    struct table            table = {0};
    struct ggs_paging_stack stack;
    uint64_t                next = 0;
    *lru                         = (struct ggs_paging_lru){.page = sequence->page};
    int status                   = ggs_paging_stack_init(&stack, sequence, error);
    for (uint64_t s = 0; status == 0 && s < sequence->n_spans; s++) {
        for (; status == 0 && next < sequence->spans[s].end; next++) {
            if (!read_blocks(lru, &table, &stack, &sequence->reads[next], sequence->spans[s].class_))
                status = ggs_fail_memory(error);
        }
    }
    ggs_paging_stack_release(&stack);
    ggs_map_release(&table.by_distance);
    if (status != 0) {
        free(table.entries);
        return status;
    }
    if (table.n > 1) qsort(table.entries, table.n, sizeof(*table.entries), by_distance);
    lru->distances = table.entries;
    lru->n         = table.n;
    return 0;
}

void ggs_paging_lru_release(struct ggs_paging_lru * lru) {
    free(lru->distances);
    *lru = (struct ggs_paging_lru){0};
}

struct ggs_paging_cost ggs_paging_lru_cost(const struct ggs_paging_lru * lru, uint64_t memory) {
    struct ggs_paging_cost cost = {0};
    for (unsigned c = 0; c < GGS_READ_CLASSES; c++) cost.bytes[c] = lru->first[c] * lru->page;
    for (uint64_t i = lru->n; i-- > 0 && lru->distances[i].pages > memory / lru->page;) {
        for (unsigned c = 0; c < GGS_READ_CLASSES; c++) cost.bytes[c] += lru->distances[i].count[c] * lru->page;
    }
    return cost;
}
