#include "answer/values-diff.h"

#include <math.h>
#include <stdio.h>

#include "analyze/values/value-report.h"
#include "answer/diff.h"
#include "base/uuid.h"

const char * ggs_value_rule_text(enum ggs_value_rule rule) {
    static const char * const texts[GGS_RULES] = {
        [GGS_RULE_WEIGHT] = "the weight itself differs",
        [GGS_RULE_NAN]    = "NaN that no input has",
        [GGS_RULE_INF]    = "infinite, and no input is",
        [GGS_RULE_CHOICE] = "other choice from equal inputs",
        [GGS_RULE_ERROR]  = "more than rounding and its inputs explain",
        [GGS_RULE_SAME]   = "equal inputs, other output, where other ops of the kind are equal",
        [GGS_RULE_BIAS]   = "its length differs: a wrong scale, not rounding",
        [GGS_RULE_PEERS]  = "unlike the same op of other layers",
    };
    return (unsigned) rule < GGS_RULES ? texts[rule] : "";
}

const char * ggs_value_key(const struct ggs_value_node * node, char * room, size_t size) {
    char count[16] = "", model[16] = "";
    if (node->count > 1) snprintf(count, sizeof(count), "~%u", node->count);
    if (node->model > 1) snprintf(model, sizeof(model), "@%u", node->model);
    snprintf(room, size, "%s:%s%s%s", node->op, node->name, count, model);
    return room;
}

static const char * const rule_words[] = {"weight", "nan", "inf", "choice", "error", "same", "bias", "peers", NULL};
static const char *       rule_word(uint64_t rule) {
          return rule < GGS_RULES ? rule_words[rule] : NULL;
}
static const char * const verdict_words[] = {"equal", "rounding", "other meaning", "wrong", NULL};
const char *              ggs_value_verdict_word(uint64_t verdict) {
                 return verdict <= GGS_VALUE_WRONG ? verdict_words[verdict] : NULL;
}

#define OP(member, key, ...) GGS_FIELD(struct ggs_value_compared, member, key, __VA_ARGS__)
GGS_GET_TEXT(op_of, struct ggs_value_compared, it->node->op)
GGS_GET_TEXT(name_of, struct ggs_value_compared, it->node->name)
GGS_GET_TEXT(alias_of, struct ggs_value_compared, it->node->alias)
GGS_GET_TEXT(key_of, struct ggs_value_compared, ggs_value_key(it->node, room, GGS_ROOM))
GGS_GET(int64_t, layer_of, struct ggs_value_compared, it->node->layer)
GGS_GET(bool, is_fused, struct ggs_value_compared, it->node->fused)
GGS_GET_TEXT(why_of, struct ggs_value_compared, ggs_value_rule_text(it->rule))
GGS_GET(bool, is_wrong, struct ggs_value_compared, it->verdict == GGS_VALUE_WRONG)

GGS_GET_TEXT(weight_of, struct ggs_value_compared, it->weight == NULL ? NULL : it->weight->name)

GGS_GET(double, allowed_of, struct ggs_value_event, isfinite(it->allowed) ? it->allowed : NAN)

static const struct ggs_field event_fields[] = {
    GGS_FIELD_OR_NULL(struct ggs_value_event, step, "token", "step of A"),
    GGS_FIELD(struct ggs_value_event, position, "position", "", .from_0 = true),
    GGS_FIELD_OR_NULL(struct ggs_value_event, sequence, "sequence"),
    GGS_FIELD(struct ggs_value_event, error, "error",
              "error of this token's output, or of the weight, relative to A's length", .least = 0),
    GGS_FIELD(struct ggs_value_event, inputs, "inputs", "largest error of an input", .least = 0),
    GGS_REAL_OR_NULL("allowed", allowed_of,
                     "what the inputs and rounding explain, with slack; null if it reads other rows or experts"),
    GGS_FIELD(struct ggs_value_event, nan, "not_finite", "elements that are NaN or infinite, and are not in A"),
    GGS_FIELD(struct ggs_value_event, run, "run", "graph run of B"),
    GGS_FIELD(struct ggs_value_event, node, "node", "node of that run's graph"),
    {0},
};
static const struct ggs_object event = {.name = "ValuesEvent", .fields = event_fields};

static const struct ggs_field op_fields[] = {
    GGS_TEXT("op", op_of, ""),
    GGS_TEXT("name", name_of, "result; in parentheses what it is computed from, if it has no name"),
    GGS_TEXT_OR_NULL("alias", alias_of, "name of its reshaped result, if it has none itself"),
    GGS_TEXT("key", key_of, "kind and name, and a count for the second of several"),
    GGS_NATURAL("layer", layer_of, ""),
    GGS_TEST("fused", is_fused, "computed together with the op before in A or in B"),
    GGS_FIELD_WORD(struct ggs_value_compared, verdict, "verdict", ggs_value_verdict_word,
                   "rounding: no more than that; other meaning: what is computed from it is right",
                   .words = verdict_words),
    OP(tokens, "tokens", "tokens that were compared; 0: B has no such op"),
    OP(equal, "tokens_equal", "bit by bit"),
    OP(error, "error", "over all tokens", .least = 0),
    OP(inputs, "inputs", "error of the inputs, over all tokens", .least = 0),
    OP(worst, "worst", "largest error of a token", .least = 0),
    OP(ratio, "ratio", "largest error of a token / allowed error", .least = 0),
    OP(bias, "bias", "change of the output's length"),
    OP(bias_allowed, "bias_allowed", "", .least = 0),
    OP(sigmas, "sigmas", "robust standard deviations above the same op of other layers; 0 if one of them is higher",
       .least = 0),
    GGS_FIELD_WORD(struct ggs_value_compared, rule, "rule", rule_word, "why it is wrong", .words = rule_words,
                   .asked = is_wrong),
    GGS_TEXT("why", why_of, "the rule in words", .asked = is_wrong),
    GGS_TEXT_OR_NULL("weight", weight_of, "weight that differs; null unless the rule is weight", .asked = is_wrong),
    GGS_FIELD(struct ggs_value_compared, found.n, "wrong_tokens", "", .asked = is_wrong),
    GGS_FIELD(struct ggs_value_compared, found.least, "first_position", "least position that is wrong", .from_0 = true,
              .asked = is_wrong),
    GGS_FIELD(struct ggs_value_compared, found.most, "last_position", "", .from_0 = true, .asked = is_wrong),
    GGS_OBJECT(struct ggs_value_compared, found.first, "first", &event, "first wrong token", .asked = is_wrong),
    {0},
};
static const struct ggs_object op = {.name = "ValuesCompared", .fields = op_fields};

GGS_NEXT(next_wrong) {
    const struct ggs_value_diff * diff = at;
    return *i < diff->n_wrong && !(diff->brief && *i >= GGS_VALUE_BRIEF) ? diff->wrong[(*i)++] : NULL;
}
GGS_GET(bool, is_full, struct ggs_value_diff, !it->brief)

#define DIFF(member, key, ...) GGS_FIELD(struct ggs_value_diff, member, key, __VA_ARGS__)

static const struct ggs_field diff_fields[] = {
    DIFF(tokens, "tokens", "that were compared"),
    DIFF(tokens_only_a, "tokens_only_a", "tokens of A that B lacks, or that follow another text"),
    GGS_FIELD_OR_NULL(struct ggs_value_diff, parted, "parted_position",
                      "first position at which the texts differ: nothing from there on is compared"),
    GGS_FIELD_OR_NULL(struct ggs_value_diff, parted_sequence, "parted_sequence"),
    DIFF(matched, "ops", "ops that both recordings have"),
    DIFF(only_a, "ops_only_a"),
    DIFF(only_b, "ops_only_b"),
    DIFF(other_meaning, "ops_other_meaning", "ops that differ, but what is computed from them does not"),
    DIFF(outputs, "outputs", "outputs of ops and tokens that were compared"),
    DIFF(equal, "outputs_equal", "outputs that are equal bit by bit"),
    DIFF(other_choices, "tokens_other_experts", "tokens that go to other experts somewhere"),
    DIFF(n_wrong, "wrong_ops"),
    GGS_EACH("wrong", next_wrong, &op, "wrong ops in order of computation: inputs agree, the output does not"),
    GGS_LIST(struct ggs_value_diff, common, n_common, "common", "what they have in common", .inside = true),
    GGS_ROWS(struct ggs_value_diff, ops, n_ops, "by_op", &op,
             "in order of computation; the server leaves it out, and of \"wrong\" all but the first 64",
             .asked = is_full),
    {0},
};
static const struct ggs_object diff = {.fields = diff_fields};

GGS_GET_TEXT(a_id, struct ggs_values_diff_answer, ggs_uuid_format(room, ggs_reader_uuid(it->a->reader)))
GGS_GET_TEXT(b_id, struct ggs_values_diff_answer, ggs_uuid_format(room, ggs_reader_uuid(it->b->reader)))
GGS_GET(bool, is_partial, struct ggs_values_diff_answer,
        ggs_trace_missing(it->a) != NULL || ggs_trace_missing(it->b) != NULL)
GGS_GET_VIEW(diff_of, struct ggs_values_diff_answer, it->diff)

static const struct ggs_field  ids_fields[] = {GGS_TEXT("", a_id, ""), GGS_TEXT("", b_id, ""), {0}};
static const struct ggs_object ids          = {.fields = ids_fields, .tuple = true};

static const struct ggs_field fields[] = {
    GGS_OBJECT_OF("experiment_ids", &ids, "ids of A and B"),
    GGS_TRUE("partial", GGS_PARTIAL_TEXT, .asked = is_partial),
    GGS_MEMBERS_VIEW(diff_of, &diff),
    GGS_ROWS(struct ggs_values_diff_answer, judgements, n_judgements, "conditions", &ggs_judgement_object,
             "of --fail-if; the first one is wrong_ops > 0"),
    {0},
};
const struct ggs_object ggs_values_diff_object = {
    .name   = "ValuesDiff",
    .text   = "Which ops compute something else in recording B than in recording A, although their inputs agree.",
    .fields = fields,
    .lines  = true,
};
