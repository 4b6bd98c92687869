#include "analyze/diff/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void ggs_spread_release(struct ggs_spread * spread) {
    free(spread->values);
    *spread = (struct ggs_spread){0};
}

int ggs_spread_add(struct ggs_spread * spread, uint64_t value) {
    if (spread->stride == 0) spread->stride = 1;
    if (spread->n++ % spread->stride != 0) return 0;
    if (spread->kept == GGS_SPREAD_KEPT) { // drops every other value and doubles the stride
        for (uint32_t i = 0; i < GGS_SPREAD_KEPT / 2; i++) spread->values[i] = spread->values[2 * i];
        spread->kept = GGS_SPREAD_KEPT / 2;
        spread->stride *= 2;
    }
    return ggs_array_push(spread->values, spread->kept, spread->capacity, value) ? 0 : -1;
}

static int by_value(const void * a, const void * b) {
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

// Interpolates between the neighbouring values.
static double at(const uint64_t * sorted, uint32_t n, double share) {
    double   place = share * (double) (n - 1);
    uint32_t below = (uint32_t) place;
    if (below + 1 >= n) return (double) sorted[n - 1];
    double rest = place - (double) below;
    return (double) sorted[below] * (1 - rest) + (double) sorted[below + 1] * rest;
}

struct ggs_quartiles ggs_spread_quartiles(const struct ggs_spread * spread) {
    uint64_t sorted[GGS_SPREAD_KEPT];
    if (spread->kept == 0) return (struct ggs_quartiles){0};
    memcpy(sorted, spread->values, spread->kept * sizeof(*sorted));
    qsort(sorted, spread->kept, sizeof(*sorted), by_value);
    return (struct ggs_quartiles){.n      = spread->n,
                                  .low    = at(sorted, spread->kept, 0.25),
                                  .median = at(sorted, spread->kept, 0.5),
                                  .high   = at(sorted, spread->kept, 0.75)};
}
