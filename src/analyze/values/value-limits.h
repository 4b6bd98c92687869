// How far two outputs of the same op may differ if nothing is wrong: what rounding of its own, and
// errors of its inputs, explain. All thresholds of `ggscope diff --values` are in the tables of
// value-limits.c; docs/values.md has them for people.
//
// Errors are relative: the Euclidean length of the difference of a token's two outputs over the
// length of A's.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// How the error of inputs becomes that of an output.
enum ggs_value_growth {
    GGS_GROWTH_RELATIVE,    // a multiple of the largest relative error of an input
    GGS_GROWTH_ABSOLUTE,    // errors add up as lengths, the output may be shorter than its inputs: sums
    GGS_GROWTH_PART,        // likewise, and a part of the input may hold all of its error: rows
    GGS_GROWTH_EXPONENTIAL, // an absolute error of the input becomes a relative one: exponentials
};

struct ggs_value_limit {
    double                own; // error of the op itself, with equal inputs
    double                amplify;
    enum ggs_value_growth growth;
    double                bias;       // change of the output's length between two kinds of devices
    double                directions; // that errors of a token's output can have, at most
};

// What the table says of an op: its name, the types of its first input and its output ("q4_0"), the
// elements that are added up for one of the output, and the elements of a row of it.
struct ggs_value_limit ggs_value_limit(const char * op, const char * input_type, const char * type, uint64_t inner,
                                       uint64_t outer);
// Error of storing numbers in a type, relative.
double ggs_value_type_error(const char * type);

// `in`: largest error of an input; `absolute`: sum of the inputs' errors as lengths; `norm`: length
// of the output in A. What the output's error may be, without slack.
double ggs_value_allowed(const struct ggs_value_limit * limit, double in, double absolute, double norm);

// The other thresholds.
struct ggs_value_rules {
    double   slack;       // rule "error": times what is allowed
    double   peer_sigmas; // rule "peers": robust standard deviations above the other layers
    double   peer_least;  // least standard deviation, of logarithms
    double   peer_ratio;  // least share of what rule "error" allows: below it, chance rules
    unsigned peers;       // least number of other layers
    unsigned same_peers;  // rule "same code": other ops of the kind that are equal
    unsigned same_tokens; // and in how many tokens each
    double   bias_slack;  // rule "bias"
    double   bias_inputs; // times the change of length of the inputs
    double   bias_noise;  // times error / sqrt(directions): what chance does to a length
    double   bias_least;
    double   share_of_worst; // rules "peers" and "bias" are about tokens with this share of the largest error
};
extern const struct ggs_value_rules ggs_value_rules;
