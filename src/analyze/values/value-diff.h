// Finds the first op that computes something else in recording B than in recording A although its
// inputs agree.
//
// Ops are matched by meaning (value-ops.h), tokens by text and position, whatever the batches. The
// error of an op is compared with that of its inputs and with what rounding explains
// (value-limits.h). Views, fused ops and outputs that were not read are passed through to find
// inputs.
//
// Memory grows with the graphs and the largest batch, not with the length of the recordings.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/values/value-ops.h"

// Why an op is wrong (docs/values.md).
enum ggs_value_rule {
    GGS_RULE_WEIGHT, // a weight that it reads differs
    GGS_RULE_NAN,    // NaN that neither A nor an input has
    GGS_RULE_INF,    // the same for infinities
    GGS_RULE_CHOICE, // other experts or rows selected from equal inputs
    GGS_RULE_ERROR,  // more than rounding and the inputs explain
    GGS_RULE_SAME,   // equal inputs, another output, where other ops of the kind are equal
    GGS_RULE_BIAS,   // its length differs: a wrong scale, not rounding
    GGS_RULE_PEERS,  // unlike the same op of other layers
    GGS_RULES,
};

// One token of an op.
struct ggs_value_event {
    uint64_t order; // order in which A computed them
    int64_t  position, sequence, step;
    double   error, inputs, allowed;
    uint64_t run, node; // of B
    uint64_t nan;       // elements that are NaN or infinite
    bool     generated;
};

struct ggs_value_events {
    uint64_t               n;
    struct ggs_value_event first;
    int64_t                least, most; // positions
    bool                   all_generated;
};

enum ggs_value_verdict {
    GGS_VALUE_EQUAL,         // bit by bit
    GGS_VALUE_ROUNDING,      // no more than rounding explains
    GGS_VALUE_OTHER_MEANING, // differs, but nothing computed from it does
    GGS_VALUE_WRONG,
};

// An op over all tokens.
struct ggs_value_compared {
    const struct ggs_value_node * node;   // of A; lives as long as the diff
    uint64_t                      b;      // index of B's op + 1, 0 for none
    uint64_t                      tokens; // compared tokens
    uint64_t                      equal;  // tokens that are equal bit by bit
    double                        error;  // over all tokens
    double                        inputs;
    double                        worst; // largest error of a token
    double                        ratio; // largest error of a token over its limit
    double                        bias;  // change of the output's length
    double                        bias_allowed;
    double                        sigmas; // robust deviations above the same op of other layers
    enum ggs_value_verdict        verdict;
    enum ggs_value_rule           rule; // if it is wrong
    struct ggs_value_events       found;
    const struct ggs_value_leaf * weight; // the weight that differs, NULL for none
};

enum { GGS_VALUE_COMMON = 6, GGS_VALUE_SENTENCE = 160 };

struct ggs_value_diff {
    struct ggs_value_ops               a, b;
    struct ggs_value_compared *        ops; // A's ops with values, as computed
    uint64_t                           n_ops, ops_capacity;
    const struct ggs_value_compared ** wrong; // first to last
    uint64_t                           n_wrong, wrong_capacity;
    uint64_t                           matched, only_a, only_b, other_meaning;
    uint64_t                           outputs, equal; // of ops and tokens
    uint64_t                           tokens, tokens_only_a;
    uint64_t                           other_choices; // tokens that select other experts in some op
    int64_t                            parted;        // first position of other text, or -1
    int64_t                            parted_sequence;
    char     common[GGS_VALUE_COMMON][GGS_VALUE_SENTENCE]; // what the wrong ops have in common
    unsigned n_common;
    bool     brief; // for the page: answers leave out by_op and all but 64 wrong ops
};

// `grid` may be NULL. It gets the compared tokens, with the steps, runs and nodes of B.
struct ggs_value_grid;
int  ggs_value_diff_compute(struct ggs_value_diff * diff, struct ggs_trace * a, struct ggs_trace * b,
                            struct ggs_value_grid * grid, struct ggs_error * error);
void ggs_value_diff_release(struct ggs_value_diff * diff); // a zeroed struct is allowed
