// How far two outputs of the same op may differ if nothing is wrong: the op's own rounding and the
// errors of its inputs. All thresholds of `ggscope diff --values` are in the tables of
// value-limits.c, and docs/values.md lists them.
//
// Errors are relative: the Euclidean length of the difference of a token's two outputs over the
// length of A's.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// How the error of the inputs becomes an error of the output.
enum ggs_value_growth {
    GGS_GROWTH_RELATIVE,    // a multiple of the largest relative error of an input
    GGS_GROWTH_ABSOLUTE,    // sums: errors add up as lengths, and terms may cancel
    GGS_GROWTH_PART,        // as ABSOLUTE, and a part of the input may hold all of its error: rows
    GGS_GROWTH_EXPONENTIAL, // an absolute error of the input becomes a relative one: exponentials
};

struct ggs_value_limit {
    double                own; // error of the op itself, with equal inputs
    double                amplify;
    enum ggs_value_growth growth;
    double                bias;       // change of the output's length between two kinds of devices
    double                directions; // maximum number of independent directions of an error
};

// Looks up an op by its name, the types of its first input and of its output ("q4_0"), the number
// of products that are summed up per element of the output, and the elements of an output row.
struct ggs_value_limit ggs_value_limit(const char * op, const char * input_type, const char * type, uint64_t inner,
                                       uint64_t outer);
// The relative error of storing a number in this type.
double ggs_value_type_error(const char * type);

// The error that the output may have, without slack. `in` is the largest error of an input,
// `absolute` the sum of the inputs' errors as lengths, `norm` the length of A's output.
double ggs_value_allowed(const struct ggs_value_limit * limit, double in, double absolute, double norm);

// The other thresholds.
struct ggs_value_rules {
    double   slack;       // rule "error": factor on the limit
    double   peer_sigmas; // rule "peers": least robust standard deviations above the other layers
    double   peer_least;  // lower bound of the standard deviation of the logarithms
    double   peer_ratio;  // least share of the limit of rule "error"; smaller errors are chance
    unsigned peers;       // least number of other layers
    unsigned same_peers;  // rule "same code": least number of other ops of the kind that are equal
    unsigned same_tokens; // least number of equal tokens of each
    double   bias_slack;  // rule "bias"
    double   bias_inputs; // factor on the inputs' change of length
    double   bias_noise;  // factor on error / sqrt(directions), the random change of a length
    double   bias_least;
    double   share_of_worst; // rules "peers" and "bias": least share of the largest error
};
extern const struct ggs_value_rules ggs_value_rules;
