#include "answer/sweep.h"

#include <math.h>

#include "answer/fields.h"

GGS_GET_TEXT(name_of, struct ggs_sweep_cell, it->figure->name)
GGS_GET_TEXT(unit_of, struct ggs_sweep_cell, it->figure->unit)

static const struct ggs_field control_fields[] = {
    GGS_FIELD_OR_NULL(struct ggs_ratio, value, "ratio", "null: the divisor is 0"),
    GGS_FIELD_OR_NULL(struct ggs_ratio, low, "low", "of the 95 % interval, by bootstrap over rounds"),
    GGS_FIELD_OR_NULL(struct ggs_ratio, high, "high"),
    {0},
};
static const struct ggs_object control = {.fields = control_fields};

GGS_GET_VIEW(control_of, struct ggs_sweep_cell, isnan(it->control.value) ? NULL : &it->control)

static const struct ggs_field cell_fields[] = {
    GGS_TEXT("figure", name_of, ""),
    GGS_TEXT("unit", unit_of, "ns, bytes, /s; empty for a count"),
    GGS_FIELD_OR_NULL(struct ggs_sweep_cell, value.median, "median", "null: not seen"),
    GGS_FIELD_OR_NULL(struct ggs_sweep_cell, value.low, "low", "lower end of the interval, by order statistics"),
    GGS_FIELD_OR_NULL(struct ggs_sweep_cell, value.high, "high"),
    GGS_FIELD_OR_NULL(
        struct ggs_sweep_cell, value.confidence, "confidence",
        "confidence of the interval: at least 0.95 from six values on; with fewer, the interval is their range"),
    GGS_OBJECT_OR_NULL("control", control_of, &control, "A/A: the control / the first row; null in other rows"),
    {0},
};
static const struct ggs_object cell = {.name = "SweepFigure", .fields = cell_fields};

#define ROW(member, key, ...) GGS_FIELD(struct ggs_sweep_row, member, key, __VA_ARGS__)

static const struct ggs_field row_fields[] = {
    ROW(variant, "variant", "its recordings are runs/VARIANT-001 and so on; control: the first variant once more"),
    GGS_LIST(struct ggs_sweep_row, values, n_values, "values", "one value per factor"),
    ROW(runs, "runs", "trials that ended"),
    ROW(n, "n", "trials that are done: figures are over these"),
    ROW(failed, "failed", "trials that the program ended with a status other than 0"),
    ROW(limited, "out_of_memory", "trials that the kernel ended: the limit is too small"),
    ROW(busy, "busy", "trials during which other programs kept the machine busy"),
    GGS_ROWS(struct ggs_sweep_row, cells, n_cells, "figures", &cell),
    {0},
};
static const struct ggs_object row = {.fields = row_fields, .lines = true};

#define SWEEP(member, key, ...) GGS_FIELD(struct ggs_sweep_answer, member, key, __VA_ARGS__)

static const struct ggs_field fields[] = {
    SWEEP(study, "study", "directory of the study"),
    GGS_LIST(struct ggs_sweep_answer, factors, n_factors, "factors", "what is varied"),
    SWEEP(planned, "planned", "trials, those of the control included"),
    SWEEP(runs, "runs", "trials that ended"),
    GGS_ROWS(struct ggs_sweep_answer, rows, n_rows, "rows", &row, "a row for each variant, then the control"),
    {0},
};
const struct ggs_object ggs_sweep_object = {
    .name = "Sweep", .text = "Results of a study.", .fields = fields, .lines = true};
