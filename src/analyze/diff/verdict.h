// Decides whether something that was measured repeatedly in two recordings became slower or faster.
//
// Medians show whether the typical value moved: further than the spread within either recording
// (the interquartile range, enlarged for few values), and by at least 3 % and 100 ns. Sums show the
// cost: a few delayed values do not move the median. Both are considered, and a verdict never
// contradicts the sums:
//
//     slower, faster         the median moved, and so did the sum
//     stalls, fewer stalls   the sum moved by half or more, and is worth a hundredth of all; or it
//                            moved against the median
//     noise                  neither, or the median moved and the sum did not
//     uncertain              fewer than five values: no meaningful spread
#pragma once

#include "analyze/diff/spread.h"

enum ggs_verdict {
    GGS_SAME,
    GGS_WITHIN_NOISE,
    GGS_UNCERTAIN,
    GGS_SLOWER, // B compared with A
    GGS_FASTER,
    GGS_STALLS,
    GGS_FEWER_STALLS,
    GGS_VERDICTS
};

struct ggs_measured {
    struct ggs_quartiles time;
    uint64_t             sum_ns;
};

// `whole_ns`: duration of everything that this is a part of; 0: this is the whole.
enum ggs_verdict ggs_verdict_of(const struct ggs_measured * a, const struct ggs_measured * b, uint64_t whole_ns);
