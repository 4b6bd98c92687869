// The knobs that `tune` searches: remedies of findings, knobs that may matter without one, and
// knobs of the user.
#pragma once

#include "trials/search.h"
#include "trials/tune.h"

// A knob with its values; the one at `start` is the program's own.
struct ggs_tune_knob {
    struct ggs_explain_knob values;
    unsigned                remedy;      // index of the value to begin with; `start` for none
    char                    finding[32]; // that names the remedy; "" for none
    double                  bound;       // most that it can gain, as a share of the goal's time
    bool                    own;         // of the user
};

struct ggs_tune_knobs {
    struct ggs_tune_knob list[GGS_SEARCH_KNOBS];
    unsigned             n;
    unsigned             lossy_left_out; // remedies that change the output
};

// `explanation->program` knows the options of the user (ggs_invocation.own).
void ggs_tune_knobs_choose(struct ggs_tune_knobs * knobs, const struct ggs_explanation * explanation,
                           const struct ggs_tune_options * options);
