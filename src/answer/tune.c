#include "answer/tune.h"

#include "answer/diff.h"
#include "answer/fields.h"

GGS_GET_TEXT(knob_of, struct ggs_tune_part, ggs_knob_name(it->setting.knob))
GGS_GET(double, without_of, struct ggs_tune_part, it->without.value)
GGS_GET(double, without_low_of, struct ggs_tune_part, it->without.low)
GGS_GET(double, without_high_of, struct ggs_tune_part, it->without.high)

#define PART(member, key, ...) GGS_FIELD(struct ggs_tune_part, member, key, __VA_ARGS__)

static const struct ggs_field part_fields[] = {
    GGS_TEXT("knob", knob_of, "what is set"),
    PART(said, "setting", "in the words of the program"),
    PART(finding, "finding", "of ggscope explain that it mends"),
    GGS_REAL_OR_NULL("without", without_of, "time without it by the time with all remedies; null: not measured"),
    GGS_REAL_OR_NULL("without_low", without_low_of, "of the 95 % interval"),
    GGS_REAL_OR_NULL("without_high", without_high_of, ""),
    PART(kept, "kept", "it is part of the best setting"),
    {0},
};
static const struct ggs_object part = {.fields = part_fields};

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
    GGS_FIELD_OR_NULL(struct ggs_tuned, command, "command", "with that setting; null: the program as it was"),
    TUNED(figure, "figure", "that decides"),
    GGS_REAL_OR_NULL("ratio", ratio_of, "time of the best setting by that of the program as it was"),
    GGS_REAL_OR_NULL("low", ratio_low_of, "of the 95 % interval"),
    GGS_REAL_OR_NULL("high", ratio_high_of, ""),
    GGS_REAL_OR_NULL("control", control_of, "the program by itself"),
    TUNED(same_output, "same_output", "of the best setting and the program as it was"),
    GGS_EACH("parts", next_part, &part, "remedies, by what explain says that they gain"),
    TUNED(failed, "failed", "all remedies together end the program"),
    TUNED(lossy_left_out, "lossy_left_out", "remedies that change the output: --allow-lossy tries them"),
    TUNED(rounds, "rounds"),
    TUNED(runs, "runs", "of the program"),
    TUNED(repeated, "repeated", "runs, because other programs kept the machine busy"),
    TUNED(busy, "busy", "runs that stayed so and count"),
    TUNED(stopped, "stopped", "by a signal or because time was up: the best so far"),
    {0},
};
const struct ggs_object ggs_tuned_object = {.name   = "Tuned",
                                            .text   = "Which remedies make a program faster, together and each.",
                                            .fields = fields,
                                            .lines  = true};
