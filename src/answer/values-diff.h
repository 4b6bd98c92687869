// Where two recordings compute different values, and the results of the conditions.
#pragma once

#include "analyze/diff/figures.h"
#include "analyze/values/value-diff.h"
#include "answer/fields.h"

struct ggs_values_diff_answer {
    const struct ggs_trace *      a, *b;
    const struct ggs_value_diff * diff;
    const struct ggs_judgement *  judgements;
    unsigned                      n_judgements;
};

const char *                   ggs_value_verdict_word(uint64_t verdict); // "rounding"
extern const struct ggs_object ggs_values_diff_object;                   // of a struct ggs_values_diff_answer

// "more than rounding explains"; "" for an invalid rule.
const char * ggs_value_rule_text(enum ggs_value_rule rule);
// "MUL_MAT:ffn_out-3", "MUL:(x)~2" for the second of several, "MUL_MAT:ffn_out-3@2" in the second
// model of a program, such as a draft model.
const char * ggs_value_key(const struct ggs_value_node * node, char * room, size_t size);
