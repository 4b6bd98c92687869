// Tables of computed values (op_values) and of whole tensors (op_dumps).
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "export/tables/tables.h"

enum { VALUE, NUMBER, STEP, HASH, SKETCH, SOURCE, WHAT };

#define OF(member)      GGS_MEMBER(VALUE, struct ggs_op_value, member)
#define OR_NONE(member) GGS_MEMBER_OR_NONE(VALUE, struct ggs_op_value, member)
static const struct ggs_table_field op_values[] = {
    {"value", GGS_CELL_INTEGER, {.from = GGS_FROM_U64, .part = NUMBER}, "number, from 0"},
    {"run", GGS_CELL_INTEGER, OF(run), "graph run: runs.run"},
    {"node", GGS_CELL_INTEGER, OF(node), "with run: the op, ops.(run, node)"},
    {"what",
     GGS_CELL_TEXT,
     {.from = GGS_FROM_CHARS, .part = WHAT},
     "output, weight or input: what the op computed, or reads"},
    {"source",
     GGS_CELL_INTEGER,
     {.from = GGS_FROM_I64, .null = GGS_NULL_NEGATIVE, .part = SOURCE},
     "of a weight or an input: which source of the op, edges.slot; null for outputs"},
    {"token",
     GGS_CELL_INTEGER,
     {.from = GGS_FROM_I64, .null = GGS_NULL_NEGATIVE, .part = STEP},
     "token step: tokens.token"},
    {"batch_row", GGS_CELL_INTEGER, OR_NONE(row),
     "which token of the graph run's batch, from 0; of a weight the expert; null if it is not divided"},
    {"position", GGS_CELL_INTEGER, OR_NONE(position), "of that token in its sequence; null if it is not known"},
    {"elements", GGS_CELL_INTEGER, OF(elements), "how many numbers"},
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
    int64_t      source = (int64_t) (value->flags & GGS_OP_VALUE_SOURCE) - 1;
    const char * what   = source < 0 ? "output" : (value->flags & GGS_OP_VALUE_INPUT) != 0 ? "input" : "weight";
    return ggs_sink_put(sink, (const void *[]){value, &number, &step, hash, sketch, &source, what}, error);
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
        "fused with the next one would have computed does not exist and has no row. Weights have a row, or one per "
        "expert, at the first op that reads them; inputs of the graph one per graph run.",
    .keys = 1,
    GGS_FIELDS(op_values),
    .produce = produce_values,
    .foreign = {{"run", "runs", NULL}},
};

// ---- whole tensors ----

enum { DUMP, DUMP_NUMBER, DUMP_STEP, DUMP_NAME, DUMP_TYPE, DUMP_DATA };

#define DUMP_OF(member) GGS_MEMBER(DUMP, struct ggs_op_dump, member)
static const struct ggs_table_field op_dumps[] = {
    {"dump", GGS_CELL_INTEGER, {.from = GGS_FROM_U64, .part = DUMP_NUMBER}, "number, from 0"},
    {"run", GGS_CELL_INTEGER, DUMP_OF(run), "graph run: runs.run"},
    {"node", GGS_CELL_INTEGER, DUMP_OF(node), "with run: the op, ops.(run, node)"},
    {"token",
     GGS_CELL_INTEGER,
     {.from = GGS_FROM_I64, .null = GGS_NULL_NEGATIVE, .part = DUMP_STEP},
     "token step: tokens.token"},
    {"source", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(DUMP, struct ggs_op_dump, slot),
     "which source of the op it is, edges.slot; null: what the op wrote"},
    {"tensor",
     GGS_CELL_TEXT,
     {.from = GGS_FROM_CHARS, .null = GGS_NULL_TEXT, .part = DUMP_NAME},
     "its name; null if it has none"},
    {"type",
     GGS_CELL_TEXT,
     {.from = GGS_FROM_CHARS, .null = GGS_NULL_TEXT, .part = DUMP_TYPE},
     "of its elements, such as f32; null if it is not known"},
    {"offset", GGS_CELL_INTEGER, DUMP_OF(offset), "of this piece in the tensor"},
    {"total_bytes", GGS_CELL_INTEGER, DUMP_OF(total), "of the tensor as it lies in memory, strides included"},
    {"bytes", GGS_CELL_INTEGER, DUMP_OF(length), "of this piece"},
    {"data",
     GGS_CELL_TEXT,
     {.from = GGS_FROM_CHARS, .part = DUMP_DATA},
     "the piece, hexadecimal, as it lies in memory"},
};

struct dumps {
    const struct ggs_sink * sink;
    struct ggs_run          run;
    char *                  hex;
    uint64_t                hex_capacity;
};

static const struct ggs_tensor * dumped_tensor(struct dumps * d, const struct ggs_op_dump * dump) {
    struct ggs_trace *       trace = &d->sink->export->trace;
    const struct ggs_graph * graph;
    if (d->run.run != dump->run || ggs_trace_graph(trace, d->run.graph, &graph, NULL) != 0 ||
        dump->node >= graph->n_nodes)
        return NULL;
    if (dump->slot < 0) return ggs_trace_tensor(trace, graph->nodes[dump->node].tensor);
    for (uint64_t e = graph->first_edge[dump->node]; e < graph->first_edge[dump->node + 1]; e++)
        if (graph->edges[e].slot == (uint64_t) dump->slot) return ggs_trace_tensor(trace, graph->edges[e].tensor);
    return NULL;
}

static int put_dump(struct dumps * d, const struct ggs_op_dump * dump, uint64_t number, int64_t step,
                    struct ggs_error * error) {
    static const char         digits[] = "0123456789abcdef";
    struct ggs_trace *        trace    = &d->sink->export->trace;
    const struct ggs_tensor * t        = dumped_tensor(d, dump);
    const char *              name     = t == NULL ? "" : ggs_trace_tensor_name(trace, t->tensor);
    const char *              type     = "";
    const uint8_t *           bytes    = dump->data;
    if (t != NULL && t->type < trace->n_types) type = ggs_reader_string(trace->reader, trace->types[t->type].name);
    if (!ggs_array_reserve(d->hex, d->hex_capacity, 2 * dump->length + 1)) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < dump->length; i++) {
        d->hex[2 * i]     = digits[bytes[i] >> 4];
        d->hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    d->hex[2 * dump->length] = '\0';
    return ggs_sink_put(d->sink, (const void *[]){dump, &number, &step, name, type, d->hex}, error);
}

static int produce_dumps(const struct ggs_sink * sink, struct ggs_error * error) {
    struct dumps        d     = {.sink = sink};
    struct ggs_cursor * dumps = NULL;
    struct ggs_cursor * runs  = NULL;
    struct ggs_op_dump  dump;
    int                 more   = 1;
    int                 status = ggs_cursor_open(&dumps, sink->export->trace.reader, GGS_TABLE_OP_DUMPS, error);
    if (status == 0) status = ggs_cursor_open(&runs, sink->export->trace.reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(dumps, &dump, error)) > 0) {
        while (more > 0 && d.run.run < dump.run) more = ggs_cursor_next(runs, &d.run, error);
        if (more < 0) status = more;
        int64_t step = d.run.run == dump.run ? d.run.step : -1;
        if (status < 0 || !ggs_export_has_step(sink->export, step)) continue;
        status = put_dump(&d, &dump, ggs_cursor_row(dumps), step, error);
    }
    ggs_cursor_close(dumps);
    ggs_cursor_close(runs);
    free(d.hex);
    return status;
}

const struct ggs_flat_table ggs_table_op_dumps = {
    .name = "op_dumps",
    .description =
        "Whole tensors that ops read and wrote, in recordings made with --values-dump: one row per piece of at most "
        "240 KiB. Weights are not among them; they are in the model's file. Of the same piece the last row holds.",
    .keys = 1,
    GGS_FIELDS(op_dumps),
    .produce = produce_dumps,
    .foreign = {{"run", "runs", NULL}},
};
