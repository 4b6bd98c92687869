#include "answer/diff.h"

#include "analyze/walk/words.h"
#include "base/uuid.h"

static const char * verdict_word(uint64_t verdict) {
    static const char * const words[] = {[GGS_SAME]         = "same",
                                         [GGS_WITHIN_NOISE] = "noise",
                                         [GGS_UNCERTAIN]    = "uncertain",
                                         [GGS_SLOWER]       = "slower",
                                         [GGS_FASTER]       = "faster",
                                         [GGS_STALLS]       = "stalls",
                                         [GGS_FEWER_STALLS] = "fewer stalls"};
    return verdict < sizeof(words) / sizeof(words[0]) ? words[verdict] : NULL;
}
#define VERDICT "B against A; stalls: the sum differs because a few ops were stalled"

// ---- totals ----

#define TOTAL(member, key) GGS_FIELD(struct ggs_totals, member, key)

static const struct ggs_field total_fields[] = {
    TOTAL(steps, "tokens"),
    TOTAL(threads, "threads"),
    TOTAL(ops, "ops"),
    TOTAL(op_runs, "op_runs"),
    TOTAL(wall_ns, "wall_ns"),
    TOTAL(read, "bytes_read"),
    TOTAL(written, "bytes_written"),
    TOTAL(disk, "bytes_disk"),
    TOTAL(touched_bytes, "bytes_touched"),
    TOTAL(nodes, "nodes"),
    TOTAL(executed, "executed"),
    TOTAL(absorbed, "absorbed"),
    TOTAL(opaque, "opaque"),
    TOTAL(unseen, "unseen"),
    TOTAL(cut, "cut"),
    TOTAL(dropped, "lost"),
    TOTAL(buffers, "buffers"),
    TOTAL(peak_bytes, "peak_bytes"),
    {0},
};
static const struct ggs_object totals = {.fields = total_fields};

// ---- times ----

static const struct ggs_field quartile_fields[] = {
    GGS_FIELD(struct ggs_quartiles, low, "low_ns", "lower quartile"),
    GGS_FIELD(struct ggs_quartiles, median, "median_ns"),
    GGS_FIELD(struct ggs_quartiles, high, "high_ns", "upper quartile"),
    {0},
};
static const struct ggs_object quartiles = {.fields = quartile_fields};

#define STEPS(side)                                                    \
    static const struct ggs_field steps_##side##_fields[] = {          \
        GGS_FIELD(struct ggs_diff_times, side.n, "tokens"),            \
        GGS_FIELD(struct ggs_diff_times, side##_ns, "wall_ns", "sum"), \
        GGS_MEMBERS(struct ggs_diff_times, side, &quartiles),          \
        {0},                                                           \
    };                                                                 \
    static const struct ggs_object steps_##side = {.fields = steps_##side##_fields};
STEPS(a)
STEPS(b)

static const struct ggs_field steps_fields[] = {
    GGS_OBJECT_OF("a", &steps_a),
    GGS_OBJECT_OF("b", &steps_b),
    GGS_FIELD_WORD(struct ggs_diff_times, verdict, "verdict", verdict_word, VERDICT),
    {0},
};
static const struct ggs_object steps = {.name = "DiffSteps", .fields = steps_fields, .lines = true};

GGS_GET_VIEW(prompt_of, struct ggs_diff, it->prompt.a.n + it->prompt.b.n > 0 ? &it->prompt : NULL)
GGS_GET_VIEW(generate_of, struct ggs_diff, it->generate.a.n + it->generate.b.n > 0 ? &it->generate : NULL)

// ---- differences ----

#define SIDE(member, key, ...) GGS_FIELD(struct ggs_diff_side, member, key, __VA_ARGS__)

static const struct ggs_field side_fields[] = {
    SIDE(ops, "ops", "ops that were compared"),
    SIDE(only, "ops_only", "ops that the other one does not have"),
    SIDE(read, "bytes_read"),
    SIDE(written, "bytes_written"),
    SIDE(wall_ns, "wall_ns", "sum"),
    GGS_MEMBERS(struct ggs_diff_side, time, &quartiles),
    {0},
};
static const struct ggs_object side = {.name = "DiffSide", .fields = side_fields};

static const char * const change_phases[] = {"PROMPT", "GENERATE", NULL};
GGS_GET_TEXT(phase_of, struct ggs_diff_item, change_phases[it->prompt ? 0 : 1])
GGS_GET(bool, is_of_all_layers, struct ggs_diff_item, it->layer == GGS_DIFF_LAYERS)

static const struct ggs_field change_fields[] = {
    GGS_TEXT("phase", phase_of, "", .words = change_phases),
    GGS_TEST("all_layers", is_of_all_layers, "the ops of all layers together"),
    GGS_FIELD_OR_NULL(struct ggs_diff_item, layer, "layer"),
    GGS_FIELD(struct ggs_diff_item, op, "op"),
    GGS_FIELD(struct ggs_diff_item, tensor, "name",
              "name of the result, without the layer's number if all layers are meant; empty if it has no name"),
    GGS_FIELD_WORD(struct ggs_diff_item, verdict, "verdict", verdict_word, VERDICT),
    GGS_FIELD(struct ggs_diff_item, bytes_differ, "ops_bytes_differ"),
    GGS_OBJECT(struct ggs_diff_item, a, "a", &side),
    GGS_OBJECT(struct ggs_diff_item, b, "b", &side),
    {0},
};
static const struct ggs_object change = {.fields = change_fields};

// ---- conditions ----

GGS_GET_TEXT(condition_of, struct ggs_judgement, it->condition->text)
GGS_GET_TEXT(figure_of, struct ggs_judgement, it->condition->figure->name)
GGS_GET(bool, is_percent, struct ggs_judgement, it->condition->percent)

static const struct ggs_field judgement_fields[] = {
    GGS_TEXT("condition", condition_of, "as it was given"),
    GGS_TEXT("figure", figure_of, ""),
    GGS_FIELD_OR_NULL(struct ggs_judgement, a, "a", "null: not seen"),
    GGS_FIELD_OR_NULL(struct ggs_judgement, b, "b"),
    GGS_FIELD_OR_NULL(struct ggs_judgement, change, "change", "from A to B"),
    GGS_TEST("percent", is_percent, "the change is in percent of A"),
    GGS_FIELD(struct ggs_judgement, failed, "failed"),
    {0},
};
const struct ggs_object ggs_judgement_object = {.name = "Condition", .fields = judgement_fields};

// ---- the answer ----

GGS_GET_TEXT(id_of, struct ggs_trace, ggs_uuid_format(room, ggs_reader_uuid(it->reader)))

static const struct ggs_field  id_fields[] = {GGS_TEXT("", id_of, ""), {0}};
static const struct ggs_object id          = {.fields = id_fields, .tuple = true};

GGS_GET_VIEW(a_of, struct ggs_diff_answer, it->a)
GGS_GET_VIEW(b_of, struct ggs_diff_answer, it->b)

static const struct ggs_field  ids_fields[] = {GGS_MEMBERS_VIEW(a_of, &id), GGS_MEMBERS_VIEW(b_of, &id), {0}};
static const struct ggs_object ids          = {.fields = ids_fields, .tuple = true};

#define DIFF(member, key, ...) GGS_FIELD(struct ggs_diff, member, key, __VA_ARGS__)

static const struct ggs_field diff_fields[] = {
    DIFF(identical, "identical", "nothing differs at all, not even times"),
    GGS_LIST(struct ggs_diff, warnings, n_warnings, "warnings", "what makes the two hard to compare", .inside = true),
    GGS_LIST(struct ggs_diff, causes.text, causes.n, "causes", "findings of ggscope explain that one of the two has",
             .inside = true),
    DIFF(tokens, "tokens", "token steps that were compared"),
    DIFF(tokens_only_a, "tokens_only_a"),
    DIFF(tokens_only_b, "tokens_only_b"),
    GGS_FIELD_OR_NULL(struct ggs_diff, parted, "token_parted", "first step whose input tokens differ"),
    DIFF(ops, "ops", "ops that were compared"),
    DIFF(
        fused, "ops_fused",
        "ops that only one recording computed on their own; the other fused them, and they are compared as part of the fused op"),
    DIFF(only_a, "ops_only_a"),
    DIFF(only_b, "ops_only_b"),
    DIFF(bytes_differ, "ops_bytes_differ"),
    DIFF(choices, "expert_ops", "ops on experts that were compared"),
    DIFF(choices_differ, "expert_ops_differ", "of these, ops that used other experts"),
    DIFF(shift, "shift", "B's time / A's time for the typical kind of op"),
    GGS_PAIRS(struct ggs_diff, a, b, "totals", &totals, "totals of each recording"),
    GGS_OBJECT_OR_NULL("prompt", prompt_of, &steps, "prompt steps"),
    GGS_OBJECT_OR_NULL("generate", generate_of, &steps, "steps that generate"),
    GGS_ROWS(struct ggs_diff, items, n_items, "changes", &change, "most time first"),
    {0},
};
static const struct ggs_object diff = {.fields = diff_fields};

GGS_GET(bool, is_partial, struct ggs_diff_answer, ggs_trace_missing(it->a) != NULL || ggs_trace_missing(it->b) != NULL)
GGS_GET_VIEW(diff_of, struct ggs_diff_answer, it->diff)
GGS_GET(bool, has_conditions, struct ggs_diff_answer, it->n_judgements > 0)

static const struct ggs_field fields[] = {
    GGS_OBJECT_OF("experiment_ids", &ids, "ids of A and B"),
    GGS_TRUE("partial", GGS_PARTIAL_TEXT, .asked = is_partial),
    GGS_MEMBERS_VIEW(diff_of, &diff),
    GGS_ROWS(struct ggs_diff_answer, judgements, n_judgements, "conditions", &ggs_judgement_object,
             "conditions of --fail-if", .asked = has_conditions),
    {0},
};
const struct ggs_object ggs_diff_object = {
    .name = "Diff", .text = "What changed from recording A to recording B.", .fields = fields, .lines = true};
