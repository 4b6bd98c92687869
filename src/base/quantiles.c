#include "base/quantiles.h"

#include <stdlib.h>

#include "base/array.h"

enum { LEADING_BITS = 12, PENDING_LEAST = 1 << 16 };

void ggs_quantiles_release(struct ggs_quantiles * quantiles) {
    free(quantiles->entries);
    *quantiles = (struct ggs_quantiles){0};
}

static int by_value(const void * a, const void * b) {
    const struct ggs_weighted *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

static uint64_t rounded(uint64_t value) {
    unsigned bits = value == 0 ? 0 : 64 - (unsigned) __builtin_clzll(value);
    return bits <= LEADING_BITS ? value : value >> (bits - LEADING_BITS) << (bits - LEADING_BITS);
}

static void merge(struct ggs_quantiles * quantiles) {
    uint64_t kept = 0;
    if (quantiles->n > 1) qsort(quantiles->entries, quantiles->n, sizeof(*quantiles->entries), by_value);
    for (uint64_t i = 0; i < quantiles->n; i++) {
        struct ggs_weighted entry = quantiles->entries[i];
        if (kept > 0 && quantiles->entries[kept - 1].value == entry.value)
            quantiles->entries[kept - 1].weight += entry.weight;
        else
            quantiles->entries[kept++] = entry;
    }
    quantiles->n = quantiles->sorted = kept;
}

static void settle(struct ggs_quantiles * quantiles) {
    if (quantiles->sorted == quantiles->n) return;
    merge(quantiles);
    if (quantiles->n <= GGS_QUANTILES_EXACT) return;
    quantiles->is_rounded = true;
    for (uint64_t i = 0; i < quantiles->n; i++) quantiles->entries[i].value = rounded(quantiles->entries[i].value);
    merge(quantiles);
}

bool ggs_quantiles_add(struct ggs_quantiles * quantiles, uint64_t value, uint64_t weight) {
    uint64_t most = quantiles->sorted < PENDING_LEAST ? PENDING_LEAST : quantiles->sorted;
    if (quantiles->is_rounded) value = rounded(value);
    quantiles->weight += weight;
    if (quantiles->n > quantiles->sorted && quantiles->entries[quantiles->n - 1].value == value) {
        quantiles->entries[quantiles->n - 1].weight += weight;
        return true;
    }
    if (quantiles->n - quantiles->sorted >= most) settle(quantiles);
    struct ggs_weighted entry = {value, weight};
    return ggs_array_push(quantiles->entries, quantiles->n, quantiles->capacity, entry);
}

uint64_t ggs_quantiles_at(struct ggs_quantiles * quantiles, unsigned percent) {
    uint64_t wanted = quantiles->weight / 100 * percent + (quantiles->weight % 100 * percent + 99) / 100, sum = 0;
    settle(quantiles);
    for (uint64_t i = 0; i < quantiles->n; i++) {
        sum += quantiles->entries[i].weight;
        if (sum >= wanted) return quantiles->entries[i].value;
    }
    return 0;
}
