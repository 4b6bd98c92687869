// Quantiles of weighted numbers in constant memory.
//
// They are exact for up to GGS_QUANTILES_EXACT different numbers. Beyond that, numbers keep their
// 12 leading bits, rounded down: a quantile is at most 1/2048 too small.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_QUANTILES_EXACT = 1 << 19 };

// A zeroed struct is valid and empty.
struct ggs_quantiles {
    struct ggs_weighted {
        uint64_t value, weight;
    } * entries; // the first `sorted` are ascending and distinct; the rest is in order of arrival
    uint64_t n, capacity, sorted;
    uint64_t weight; // total weight
    bool     is_rounded;
};

void ggs_quantiles_release(struct ggs_quantiles * quantiles);
bool ggs_quantiles_add(struct ggs_quantiles * quantiles, uint64_t value, uint64_t weight); // false if out of memory
// Returns the smallest number such that it and all smaller ones have at least `percent` of the
// weight. 0 if empty.
uint64_t ggs_quantiles_at(struct ggs_quantiles * quantiles, unsigned percent);
