#include "answer/bench.h"

#include <math.h>
#include <string.h>

#include "answer/diff.h"

static double width(const struct ggs_ratio * ratio) {
    return ratio->high - ratio->low;
}

const struct ggs_bench_figure * ggs_bench_decides(const struct ggs_bench_figure * figures, unsigned n) {
    const struct ggs_bench_figure * best = NULL;
    for (unsigned i = 0; i < n; i++) {
        bool of_tokens =
            strcmp(figures[i].figure->name, "token_ns") == 0 || strcmp(figures[i].figure->name, "token_quiet_ns") == 0;
        if (!of_tokens || isnan(figures[i].ratio.value) || isnan(figures[i].control.value)) continue;
        if (best == NULL || width(&figures[i].control) < width(&best->control)) best = &figures[i];
    }
    return best;
}

static const struct ggs_field ratio_fields[] = {
    GGS_FIELD_OR_NULL(struct ggs_ratio, value, "ratio"),
    GGS_FIELD_OR_NULL(struct ggs_ratio, low, "low", "of the 95 % interval, by bootstrap over rounds"),
    GGS_FIELD_OR_NULL(struct ggs_ratio, high, "high"),
    {0},
};
static const struct ggs_object ratio = {.name = "Ratio", .fields = ratio_fields};

#define FIGURE(member, key, ...) GGS_FIELD(struct ggs_bench_figure, member, key, __VA_ARGS__)

GGS_GET_TEXT(name_of, struct ggs_bench_figure, it->figure->name)

static const struct ggs_field figure_fields[] = {
    GGS_TEXT("figure", name_of, ""),
    GGS_FIELD_OR_NULL(struct ggs_bench_figure, a, "a", "median of the baseline; null: not seen"),
    GGS_FIELD_OR_NULL(struct ggs_bench_figure, b, "b", "median of the program"),
    GGS_OBJECT(struct ggs_bench_figure, ratio, "change", &ratio, "B / A"),
    GGS_OBJECT(struct ggs_bench_figure, control, "control", &ratio, "the baseline / itself"),
    FIGURE(differs, "differs", "by more than noise"),
    {0},
};
static const struct ggs_object figure = {.fields = figure_fields};

#define BENCH(member, ...) GGS_FIELD(struct ggs_bench_answer, member, #member, __VA_ARGS__)

GGS_GET_TEXT(decides_of, struct ggs_bench_answer, it->decides == NULL ? NULL : it->decides->figure->name)

GGS_GET_VIEW(causes_of, struct ggs_bench_answer, it->causes)

static const struct ggs_field cause_fields[] = {
    GGS_LIST(struct ggs_causes, text, n, "causes",
             "findings of ggscope explain that one of the two has, from their first rounds", .inside = true),
    {0},
};
static const struct ggs_object causes = {.fields = cause_fields};

static const struct ggs_field fields[] = {
    BENCH(rounds, "", .least = 2),
    BENCH(baseline, "false: the program was measured against itself"),
    GGS_ROWS(struct ggs_bench_answer, figures, n_figures, "figures", &figure),
    GGS_TEXT_OR_NULL(
        "decides", decides_of,
        "figure that decides whether tokens are faster: token_ns or token_quiet_ns, whichever differs less between the baseline and itself"),
    GGS_MEMBERS_VIEW(causes_of, &causes),
    GGS_ROWS(struct ggs_bench_answer, judgements, n_judgements, "conditions", &ggs_judgement_object,
             "conditions of --fail-if"),
    {0},
};
const struct ggs_object ggs_bench_object = {
    .name = "Bench", .text = "Whether a program is faster than a baseline.", .fields = fields, .lines = true};
