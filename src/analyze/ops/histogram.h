// The distribution of numbers, in 16 bins per power of two: a quantile is at most 7 % too small.
// Powers of two are exact.
#pragma once

#include <stdint.h>

enum { GGS_HISTOGRAM_BINS = 61 * 16 };

// A zeroed struct is empty.
struct ggs_histogram {
    uint64_t n;
    uint64_t bins[GGS_HISTOGRAM_BINS];
};

void ggs_histogram_add(struct ggs_histogram * histogram, uint64_t value);
// Returns the value at or below which `share` (0..1) of the numbers lie: the lower end of its bin.
// 0 if empty.
uint64_t ggs_histogram_quantile(const struct ggs_histogram * histogram, double share);
