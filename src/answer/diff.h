// The differences between two recordings, and the results of --fail-if.
#pragma once

#include "analyze/diff/diff.h"
#include "analyze/diff/figures.h"
#include "answer/fields.h"

struct ggs_diff_answer {
    const struct ggs_trace *     a, *b;
    const struct ggs_diff *      diff;
    const struct ggs_judgement * judgements;
    unsigned                     n_judgements;
};

extern const struct ggs_object ggs_diff_object;      // of a struct ggs_diff_answer
extern const struct ggs_object ggs_judgement_object; // of a struct ggs_judgement
