// The flat tables that csv, sqlite and parquet share: one schema, one producer for each table, three sinks.
//
// A producer walks the trace and hands rows to a sink, cell by cell in the order of the schema. docs/tables.md is what
// ggs_tables_describe writes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/export.h"

enum ggs_cell_type { GGS_CELL_INTEGER, GGS_CELL_REAL, GGS_CELL_TEXT };

struct ggs_field {
    const char *       name;
    enum ggs_cell_type type;
    bool               nullable;
    const char *       description;
};

struct ggs_cell {
    bool         null;
    int64_t      integer;
    double       real;
    const char * text;
    size_t       length;
};

enum { GGS_FIELDS_MOST = 32 };

struct ggs_sink {
    // `cells` are as many as the table has fields. Returns 0 or a negative status.
    int (*row)(void * context, const struct ggs_cell * cells, struct ggs_error * error);
    void * context;
};

struct ggs_flat_table {
    const char *             name;
    const char *             description;
    unsigned                 keys;  // the first so many fields tell rows apart, and rows ascend by them; 0: none do
    bool                     walks; // goes over all runs
    const struct ggs_field * fields;
    unsigned                 n_fields;
    int (*produce)(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
};

const struct ggs_flat_table * ggs_table(unsigned i); // NULL beyond the last
const struct ggs_flat_table * ggs_table_find(const char * name);
// Was this table asked for?
bool     ggs_table_wanted(const struct ggs_export_options * options, const struct ggs_flat_table * table);
unsigned ggs_tables_passes(const struct ggs_export_options * options);
// All tables and columns as Markdown.
void ggs_tables_describe(struct ggs_text * text);

// ---- for producers ----

// A row that is filled from left to right.
struct ggs_row {
    struct ggs_cell cells[GGS_FIELDS_MOST];
    unsigned        n;
};

static inline void ggs_row_begin(struct ggs_row * row) {
    row->n = 0;
}

static inline void ggs_row_integer(struct ggs_row * row, int64_t value) {
    row->cells[row->n++] = (struct ggs_cell){.integer = value};
}

static inline void ggs_row_null(struct ggs_row * row) {
    row->cells[row->n++] = (struct ggs_cell){.null = true};
}

// 0 stands for "none" in most columns of a trace that name a row of another table.
static inline void ggs_row_id(struct ggs_row * row, uint64_t value) {
    row->cells[row->n++] = (struct ggs_cell){.null = value == 0, .integer = (int64_t) value};
}

// -1 stands for "none": layers, token steps, ends that were never seen.
static inline void ggs_row_natural(struct ggs_row * row, int64_t value) {
    row->cells[row->n++] = (struct ggs_cell){.null = value < 0, .integer = value};
}

static inline void ggs_row_real(struct ggs_row * row, double value) {
    row->cells[row->n++] = (struct ggs_cell){.real = value};
}

void ggs_row_text(struct ggs_row * row, const char * text); // NULL gives null

int ggs_rows_ops(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_op_runs(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_accesses(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_experts(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_runs(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_tokens(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_inputs(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_graphs(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_nodes(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_edges(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_tensors(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_buffers(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_files(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_transfers(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_faults(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_requests(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_reads(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_residency(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
int ggs_rows_experiment(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error);
