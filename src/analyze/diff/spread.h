// The spread of repeated values: keeps at most 128 of any number of values, evenly spaced, and
// computes quartiles, which are robust against outliers.
#pragma once

#include <stdint.h>

enum { GGS_SPREAD_KEPT = 128 };

// A zeroed struct is empty.
struct ggs_spread {
    uint64_t   n, stride; // values seen; one of `stride` is kept
    uint32_t   kept;
    uint32_t   capacity;
    uint64_t * values;
};

struct ggs_quartiles {
    uint64_t n;
    double   low, median, high;
};

void                 ggs_spread_release(struct ggs_spread * spread);
int                  ggs_spread_add(struct ggs_spread * spread, uint64_t value); // 0, or -1 if out of memory
struct ggs_quartiles ggs_spread_quartiles(const struct ggs_spread * spread);
