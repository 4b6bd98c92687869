#include "answer/tune.h"

#include "answer/diff.h"
#include "answer/fields.h"

GGS_GET(double, without_of, struct ggs_tune_part, it->without.value)
GGS_GET(double, without_low_of, struct ggs_tune_part, it->without.low)
GGS_GET(double, without_high_of, struct ggs_tune_part, it->without.high)

#define PART(member, key, ...) GGS_FIELD(struct ggs_tune_part, member, key, __VA_ARGS__)

static const struct ggs_field part_fields[] = {
    PART(name, "knob", "what is set"),
    PART(said, "setting", "in the words of the program"),
    GGS_FIELD_OR_NULL(struct ggs_tune_part, finding, "finding",
                      "finding of ggscope explain that it remedies; null for none"),
    GGS_REAL_OR_NULL("without", without_of,
                     "time with the program's own value / time with this one; null: not measured"),
    GGS_REAL_OR_NULL("without_low", without_low_of, "of the 95 % interval"),
    GGS_REAL_OR_NULL("without_high", without_high_of, ""),
    PART(kept, "kept", "it is part of the best setting"),
    {0},
};
static const struct ggs_object part = {.fields = part_fields};

GGS_GET(double, value_of, struct ggs_tune_value, it->ratio.value)
GGS_GET(double, value_low_of, struct ggs_tune_value, it->ratio.low)
GGS_GET(double, value_high_of, struct ggs_tune_value, it->ratio.high)

static const struct ggs_field value_fields[] = {
    GGS_FIELD(struct ggs_tune_value, said, "setting", "in the words of the program"),
    GGS_REAL_OR_NULL("ratio", value_of,
                     "its time / time with the program's own value, all else being equal; null: not measured"),
    GGS_REAL_OR_NULL("low", value_low_of, "lower end of the 95 % interval"),
    GGS_REAL_OR_NULL("high", value_high_of, ""),
    GGS_FIELD(struct ggs_tune_value, failed, "failed", "it ends the program"),
    {0},
};
static const struct ggs_object value = {.fields = value_fields};

GGS_NEXT(next_value) {
    const struct ggs_tuned * tuned = at;
    return *i < tuned->n_values ? &tuned->value[(*i)++] : NULL;
}

GGS_NEXT(next_part) {
    const struct ggs_tuned * tuned = at;
    return *i < tuned->n ? &tuned->part[(*i)++] : NULL;
}
GGS_GET(double, ratio_of, struct ggs_tuned, it->ratio.value)
GGS_GET(double, ratio_low_of, struct ggs_tuned, it->ratio.low)
GGS_GET(double, ratio_high_of, struct ggs_tuned, it->ratio.high)
GGS_GET(double, control_of, struct ggs_tuned, it->control.value)

#define TUNED(member, key, ...) GGS_FIELD(struct ggs_tuned, member, key, __VA_ARGS__)

static const struct ggs_field fields[] = {
    TUNED(better, "better", "a setting is faster by more than noise"),
    GGS_FIELD_OR_NULL(struct ggs_tuned, command, "command", "command with that setting; null: the unchanged program"),
    TUNED(figure, "figure", "figure that decides"),
    GGS_REAL_OR_NULL("ratio", ratio_of, "time of the best setting / time of the unchanged program"),
    GGS_REAL_OR_NULL("low", ratio_low_of, "lower end of the 95 % interval"),
    GGS_REAL_OR_NULL("high", ratio_high_of, ""),
    GGS_REAL_OR_NULL("control", control_of, "the program / itself"),
    TUNED(same_output, "same_output", "the best setting gives the same output as the unchanged program"),
    TUNED(noise, "noise", "smaller differences, as a share, cannot be told from noise"),
    TUNED(repeatable, "repeatable", "the unchanged program's output is the same in all runs"),
    GGS_EACH("parts", next_part, &part, "remedies, and knobs with a better value"),
    GGS_EACH("values", next_value, &value, "values that were tried"),
    TUNED(failed, "failed", "all remedies together end the program"),
    TUNED(lossy_left_out, "lossy_left_out", "remedies that change the output: --allow-lossy tries them"),
    TUNED(rounds, "rounds"),
    TUNED(runs, "runs", "runs of the program"),
    TUNED(repeated, "repeated", "runs that were repeated because other programs kept the machine busy"),
    TUNED(busy, "busy", "runs that count although the machine was busy"),
    TUNED(others, "others", "largest share of the CPUs that other programs used during a run"),
    TUNED(stopped, "stopped", "stopped by a signal or a time limit: the result is the best so far"),
    {0},
};
const struct ggs_object ggs_tuned_object = {.name   = "Tuned",
                                            .text   = "Which remedies make a program faster, together and each.",
                                            .fields = fields,
                                            .lines  = true};
