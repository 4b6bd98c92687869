// How numbers are distributed: in 16 bins for each power of two, so that a quantile is at most 7 %
// too small. Powers of two are exact.
#pragma once

#include <stdint.h>

enum { GGS_HISTOGRAM_BINS = 61 * 16 };

// A zeroed struct is empty.
struct ggs_histogram {
    uint64_t n;
    uint64_t bins[GGS_HISTOGRAM_BINS];
};

void ggs_histogram_add(struct ggs_histogram * histogram, uint64_t value);
// The value that `share` (0..1) of the numbers lie at or below: the lower end of its bin. 0 if
// there are none.
uint64_t ggs_histogram_quantile(const struct ggs_histogram * histogram, double share);
