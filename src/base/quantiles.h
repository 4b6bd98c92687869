// Quantiles of weighted numbers, in memory that does not grow with how many there are.
//
// Exact as long as there are at most GGS_QUANTILES_EXACT different numbers. Beyond that numbers
// keep their 12 leading bits, rounded down: a quantile is then at most 1/2048 too small.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_QUANTILES_EXACT = 1 << 19 };

// A zeroed struct is ready for use.
struct ggs_quantiles {
    struct ggs_weighted {
        uint64_t value, weight;
    } * entries; // the first `sorted` ascending, all different; behind them as they came
    uint64_t n, capacity, sorted;
    uint64_t weight; // of all
    bool     is_rounded;
};

void ggs_quantiles_release(struct ggs_quantiles * quantiles);
bool ggs_quantiles_add(struct ggs_quantiles * quantiles, uint64_t value, uint64_t weight); // false: out of memory
// The smallest number such that it and those below it have at least `percent` of the weight. 0 if
// there are none.
uint64_t ggs_quantiles_at(struct ggs_quantiles * quantiles, unsigned percent);
