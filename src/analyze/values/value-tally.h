// What is kept of an op of A while two recordings are compared, and what is made of it at the end.
// For value-diff.c.
#pragma once

#include "analyze/values/value-diff.h"

enum { GGS_TALLY_LEVELS = 48 };

// All sums are over the tokens that took the same way in both: the same experts, no NaN.
struct ggs_value_tally {
    uint64_t                match, tried; // index in B + 1; how many ops B had when none was found
    bool                    differs;      // reads what the other recording does not have
    uint64_t                checked;      // `differs` is for so many ops of B
    uint64_t                tokens, equal;
    double                  error2, inputs2, norm2, b_norm2, elements;
    double                  worst, ratio;
    uint64_t                same, other; // tokens with inputs that are equal bit by bit: output equal, not equal
    uint64_t                suspects;    // tokens that differ although it has other inputs in B
    uint32_t                leaf;        // index + 1 of the weight that differs
    struct ggs_value_events rules[GGS_RULES];
    struct ggs_value_events levels[GGS_TALLY_LEVELS]; // by the error's binary exponent
};

void ggs_value_event_add(struct ggs_value_events * events, const struct ggs_value_event * event);
// By binary exponent.
unsigned ggs_value_level(double error);

// Fills in ops, verdicts and what the wrong ones have in common. `tally` is by op of diff->a.
int ggs_value_judge(struct ggs_value_diff * diff, const struct ggs_value_tally * tally, struct ggs_error * error);
