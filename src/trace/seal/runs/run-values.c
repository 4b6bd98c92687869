#include "trace/seal/runs/run-values.h"

#include <stdlib.h>
#include <string.h>

#include "trace/values/weight-file.h"

// One graph run of a scheduler call may look up tokens, and another may read positions, so
// positions are kept apart from both.
static void learn_positions(struct ggs_runs * runs, const struct ggs_run * row, uint64_t n, const void * payload) {
    if (!ggs_writer_reserve(runs->writer, runs->positions, runs->positions_capacity, n)) return;
    for (uint64_t i = 0; i < n; i++) {
        int32_t position;
        memcpy(&position, (const char *) payload + i * sizeof(position), sizeof(position));
        runs->positions[i] = position;
    }
    runs->n_positions  = n;
    runs->positions_of = row->schedule;
}

static int64_t position_of(const struct ggs_runs * runs, const struct ggs_run * row,
                           const struct ggs_seal_batch * batch, uint32_t token) {
    if (row->schedule != 0 && runs->positions_of == row->schedule && token < runs->n_positions)
        return runs->positions[token];
    return token < batch->n ? batch->position[token] : -1;
}

// `unit` says what the rows are about; they may have no alignment.
static void write_rows(struct ggs_runs * runs, const struct ggs_run * run, const struct ggs_seal_batch * batch,
                       const struct ggs_spool_values * unit, const void * rows) {
    struct ggs_spool_value value;
    uint64_t flags = unit->source | (unit->source != 0 && unit->input != 0 ? (uint64_t) GGS_OP_VALUE_INPUT : 0);
    for (uint32_t i = 0; i < unit->rows; i++) {
        memcpy(&value, (const char *) rows + i * sizeof(value), sizeof(value));
        bool                whole = value.token == GGS_VALUE_NO_TOKEN;
        struct ggs_op_value row   = {.run  = run->run,
                                     .node = unit->node,
                                     .row  = whole ? -1 : (int64_t) value.token,
                                     .position =
                                       whole || unit->source != 0 ? -1 : position_of(runs, run, batch, value.token),
                                     .elements = unit->elements,
                                     .nan      = value.nan,
                                     .inf      = value.inf,
                                     .min      = (double) value.min,
                                     .max      = (double) value.max,
                                     .mean     = (double) value.mean,
                                     .rms      = (double) value.rms,
                                     .largest  = value.largest,
                                     .hash     = value.hash,
                                     .flags    = flags,
                                     .sketch   = value.sketch,
                                     .length   = sizeof(value.sketch)};
        ggs_writer_append(runs->writer, GGS_TABLE_OP_VALUES, &row);
    }
}

static void write_values(struct ggs_runs * runs, const struct ggs_run * run, const struct ggs_seal_batch * batch,
                         const struct ggs_spool_values * unit, const void * payload) {
    if (unit->rows != 0 && unit->bytes != (uint64_t) unit->rows * sizeof(struct ggs_spool_value))
        runs->damaged++;
    else
        write_rows(runs, run, batch, unit, payload);
}

// A weight that lies in a file is read once, when the recording has ended: not for a part, which
// keeps the unit, nor for every view of a live recording.
static void write_weight(struct ggs_runs * runs, const struct ggs_run * run, const struct ggs_seal_batch * batch,
                         const struct ggs_spool_weight * unit, const void * payload) {
    struct ggs_spool_values values = {
        .source = unit->source, .node = unit->node, .elements = unit->elements, .rows = unit->rows};
    if (runs->mode == GGS_RUNS_INTO_PART || !runs->graphs->places->options->weights) return;
    struct ggs_spool_value * rows = unit->rows > GGS_WEIGHT_MOST_ROWS ? NULL : calloc(unit->rows, sizeof(*rows));
    if (rows != NULL && ggs_weight_file_read(unit, payload, rows))
        write_rows(runs, run, batch, &values, rows);
    else
        runs->lost_weights++;
    free(rows);
}

static void write_dump(struct ggs_runs * runs, const struct ggs_run * run, const struct ggs_spool_dump * unit,
                       const void * payload) {
    struct ggs_op_dump row = {.run    = run->run,
                              .node   = unit->node,
                              .slot   = unit->source == GGS_DUMP_OUTPUT ? -1 : (int64_t) unit->source,
                              .offset = unit->offset,
                              .total  = unit->total,
                              .data   = payload,
                              .length = unit->bytes};
    ggs_writer_append(runs->writer, GGS_TABLE_OP_DUMPS, &row);
}

void ggs_run_values_write(struct ggs_runs * runs, const struct ggs_run * row, const struct ggs_seal_graph * graph,
                          const struct ggs_seal_batch * batch, const struct ggs_spool_index * unit,
                          const void * payload) {
    struct ggs_spool_values values;
    struct ggs_spool_dump   dump;
    struct ggs_spool_weight weight;
    if (graph != NULL && unit->node >= graph->n_nodes) {
        runs->damaged++;
        return;
    }
    memcpy(&values, unit, sizeof(values)); // needs a stricter alignment
    memcpy(&dump, unit, sizeof(dump));
    memcpy(&weight, unit, sizeof(weight));
    if (unit->type == GGS_UNIT_DUMP)
        write_dump(runs, row, &dump, payload);
    else if (unit->type == GGS_UNIT_WEIGHT)
        write_weight(runs, row, batch, &weight, payload);
    else if (unit->type == GGS_UNIT_POSITIONS)
        learn_positions(runs, row, values.bytes / sizeof(int32_t), payload);
    else
        write_values(runs, row, batch, &values, payload);
}
