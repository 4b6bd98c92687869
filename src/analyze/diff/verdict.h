// Did something that was measured several times in two recordings become slower or faster?
//
// Medians tell whether the typical value moved: further than the spread within either recording
// (the distance of the quartiles, taken larger if there are few values), and by at least 3 % and
// 100 ns. Sums tell what it cost: a few values that were held up leave the median where it was.
// Both are looked at, and a verdict never says the opposite of the sums:
//
//     slower, faster         the median moved, and so did the sum
//     stalls, fewer stalls   the sum moved by half or more, and is worth a hundredth of all; or against the median
//     noise                  neither, or the median moved and the sum did not
//     uncertain              fewer than five values: no spread to speak of
#pragma once

#include "analyze/diff/spread.h"

enum ggs_verdict {
    GGS_SAME,
    GGS_WITHIN_NOISE,
    GGS_UNCERTAIN,
    GGS_SLOWER, // B against A
    GGS_FASTER,
    GGS_STALLS,
    GGS_FEWER_STALLS,
    GGS_VERDICTS
};

struct ggs_measured {
    struct ggs_quartiles time;
    uint64_t             sum_ns;
};

// `whole_ns`: how long everything took that this is a part of; 0: this is the whole.
enum ggs_verdict ggs_verdict_of(const struct ggs_measured * a, const struct ggs_measured * b, uint64_t whole_ns);
