// The table op_values: statistics of computed values.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "export/tables/tables.h"

enum { VALUE, NUMBER, STEP, HASH, SKETCH };

#define OF(member)      GGS_MEMBER(VALUE, struct ggs_op_value, member)
#define OR_NONE(member) GGS_MEMBER_OR_NONE(VALUE, struct ggs_op_value, member)
static const struct ggs_table_field op_values[] = {
    {"value", GGS_CELL_INTEGER, {.from = GGS_FROM_U64, .part = NUMBER}, "number, from 0"},
    {"run", GGS_CELL_INTEGER, OF(run), "graph run: runs.run"},
    {"node", GGS_CELL_INTEGER, OF(node), "with run: the op, ops.(run, node)"},
    {"token",
     GGS_CELL_INTEGER,
     {.from = GGS_FROM_I64, .null = GGS_NULL_NEGATIVE, .part = STEP},
     "token step: tokens.token"},
    {"batch_row", GGS_CELL_INTEGER, OR_NONE(row),
     "which token of the graph run's batch, from 0; null if the output is not divided by tokens"},
    {"position", GGS_CELL_INTEGER, OR_NONE(position), "of that token in its sequence; null if it is not known"},
    {"elements", GGS_CELL_INTEGER, OF(elements), "how many numbers the op computed for it"},
    {"nan", GGS_CELL_INTEGER, OF(nan), "of these, NaN"},
    {"inf", GGS_CELL_INTEGER, OF(inf), "of these, infinite"},
    {"min", GGS_CELL_REAL, OF(min), "least of the finite ones; 0 if there are none, as the next four"},
    {"max", GGS_CELL_REAL, OF(max), "largest"},
    {"mean", GGS_CELL_REAL, OF(mean), "mean"},
    {"rms", GGS_CELL_REAL, OF(rms), "root of the mean square"},
    {"largest", GGS_CELL_INTEGER, OF(largest), "index of the one with the largest absolute value: its channel"},
    {"hash", GGS_CELL_TEXT, {.from = GGS_FROM_CHARS, .part = HASH}, "of their bits as F32, hexadecimal"},
    {"sketch",
     GGS_CELL_TEXT,
     {.from = GGS_FROM_CHARS, .part = SKETCH},
     "16 numbers, linear in the elements: the distance of two sketches estimates that of two outputs"},
};

static void print_sketch(char * out, size_t size, const struct ggs_op_value * value) {
    size_t at = 0;
    out[0]    = '\0';
    for (uint64_t i = 0; i < value->length / sizeof(float) && at < size; i++) {
        float number;
        memcpy(&number, (const char *) value->sketch + i * sizeof(number), sizeof(number));
        at += (size_t) snprintf(out + at, size - at, "%s%.9g", i == 0 ? "" : " ", (double) number);
    }
}

static int put(const struct ggs_sink * sink, const struct ggs_op_value * value, uint64_t number, int64_t step,
               struct ggs_error * error) {
    char hash[20], sketch[GGS_OP_VALUE_SKETCH * 20];
    snprintf(hash, sizeof(hash), "%016" PRIx64, value->hash);
    print_sketch(sketch, sizeof(sketch), value);
    return ggs_sink_put(sink, (const void *[]){value, &number, &step, hash, sketch}, error);
}

static int produce_values(const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor * values = NULL;
    struct ggs_cursor * runs   = NULL;
    struct ggs_op_value value;
    struct ggs_run      run    = {0};
    int                 more   = 1;
    int                 status = ggs_cursor_open(&values, sink->export->trace.reader, GGS_TABLE_OP_VALUES, error);
    if (status == 0) status = ggs_cursor_open(&runs, sink->export->trace.reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(values, &value, error)) > 0) {
        while (more > 0 && run.run < value.run) more = ggs_cursor_next(runs, &run, error);
        if (more < 0) status = more;
        int64_t step = run.run == value.run ? run.step : -1;
        if (status < 0 || !ggs_export_has_step(sink->export, step)) continue;
        status = put(sink, &value, ggs_cursor_row(values), step, error);
    }
    ggs_cursor_close(values);
    ggs_cursor_close(runs);
    return status;
}

const struct ggs_flat_table ggs_table_op_values = {
    .name = "op_values",
    .description =
        "One row per op and token of what it computed, in recordings made with --values: what an op that was "
        "fused with the next one would have computed does not exist and has no row.",
    .keys = 1,
    GGS_FIELDS(op_values),
    .produce = produce_values,
    .foreign = {{"run", "runs", NULL}},
};
