// What a comparison accumulates per op of A, and the verdicts at its end. For value-diff.c.
#pragma once

#include "analyze/values/value-diff.h"

enum { GGS_TALLY_LEVELS = 48 };

// Sums are over tokens that take the same path in both recordings: the same experts, no NaN.
struct ggs_value_tally {
    uint64_t                match, tried; // index in B + 1; ops of both (`known`) when last searched
    bool                    differs;      // reads something that the other recording does not have
    uint64_t                checked;      // ops of both that `differs` is based on
    uint64_t                tokens, equal;
    double                  error2, inputs2, norm2, b_norm2, elements;
    double                  worst, ratio;
    uint64_t                same, other; // tokens with equal inputs: equal outputs, other outputs
    uint64_t                suspects;    // tokens that differ although the op has other inputs in B
    uint32_t                leaf;        // the weight that differs: index + 1
    struct ggs_value_events rules[GGS_RULES];
    struct ggs_value_events levels[GGS_TALLY_LEVELS]; // by the error's binary exponent
};

void ggs_value_event_add(struct ggs_value_events * events, const struct ggs_value_event * event);
// The binary exponent of an error, as an index.
unsigned ggs_value_level(double error);

// Fills in ops, verdicts and what the wrong ops have in common. `tally` is indexed by op of
// diff->a.
int ggs_value_judge(struct ggs_value_diff * diff, const struct ggs_value_tally * tally, struct ggs_error * error);
