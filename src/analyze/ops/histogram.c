#include "analyze/ops/histogram.h"

enum { SHIFT = 4, PARTS = 1 << SHIFT };

// Below 16 every number has its own bin.
static unsigned bin_of(uint64_t value) {
    if (value < PARTS) return (unsigned) value;
    unsigned power = 63 - (unsigned) __builtin_clzll(value);
    return (power - SHIFT + 1) * PARTS + (unsigned) (value >> (power - SHIFT) & (PARTS - 1));
}

static uint64_t least_of(unsigned bin) {
    if (bin < PARTS) return bin;
    return (uint64_t) (PARTS + bin % PARTS) << (bin / PARTS - 1);
}

void ggs_histogram_add(struct ggs_histogram * histogram, uint64_t value) {
    histogram->bins[bin_of(value)]++;
    histogram->n++;
}

uint64_t ggs_histogram_quantile(const struct ggs_histogram * histogram, double share) {
    double   wanted = share * (double) histogram->n;
    uint64_t passed = 0;
    unsigned last   = 0;
    for (unsigned i = 0; i < GGS_HISTOGRAM_BINS && (double) passed < wanted; i++) {
        passed += histogram->bins[i];
        if (histogram->bins[i] > 0) last = i;
    }
    return least_of(last);
}
