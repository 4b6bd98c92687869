// The flat tables that csv, sqlite and parquet share.
//
// A column is one line of its table: name, type, source of the value, description. A producer walks
// the trace and passes the structs of a row (its parts) to the sink. The cells are filled from the
// columns, so a row can neither miss a cell nor swap two.
//
//     static const struct ggs_table_field fields[] = {
//         {"run", INTEGER, GGS_MEMBER(0, struct ggs_run, run), "graph run, from 1"},
//         {"token", INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_run, step), "token step"},
//     };
//     ggs_sink_put(sink, (const void *[]){&run}, error);
//
// ggs_tables_describe writes docs/tables.md.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/export.h"

enum ggs_cell_type {
    GGS_CELL_INTEGER,
    GGS_CELL_BOOLEAN,
    GGS_CELL_REAL,
    GGS_CELL_TEXT,
    GGS_CELL_TIME, // nanoseconds since 1970, UTC
    GGS_CELL_TYPES,
};

struct ggs_cell {
    bool         null;
    int64_t      integer; // of integers, booleans and times
    double       real;
    const char * text;
    size_t       length;
};

// ---- columns ----

// The type of a part's member.
enum ggs_from {
    GGS_FROM_U64,
    GGS_FROM_I64,
    GGS_FROM_U32,
    GGS_FROM_INT,
    GGS_FROM_BOOL,
    GGS_FROM_DOUBLE,
    GGS_FROM_TEXT,   // const char *; NULL becomes null
    GGS_FROM_CHARS,  // char []; "" becomes null
    GGS_FROM_STRING, // uint64_t: number of a string in the trace
    GGS_FROM_TEST,   // uint64_t: true if any bit of the mask is set
    GGS_FROM_CALL,
    GGS_FROM_FACT, // a value of experiment.json, null if it is missing
};

// The value that becomes null. A column without one is never null, except for texts that are NULL.
enum ggs_null {
    GGS_NULL_NEVER,
    GGS_NULL_ZERO,
    GGS_NULL_NEGATIVE,
    GGS_NULL_TEXT,
    GGS_NULL_WITH, // null if another member of the part, a uint64_t, is 0
};

struct ggs_value {
    enum ggs_from from;
    enum ggs_null null;
    unsigned      part;
    size_t        offset, with;
    uint64_t      mask;
    const char * (*word)(uint64_t number); // the word of a number
    void (*call)(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell);
    const char * fact; // "host.cores"
};

struct ggs_table_field {
    const char *       name;
    enum ggs_cell_type type;
    struct ggs_value   value;
    const char *       description;
};

#define GGS_MEMBER_KIND(type_, member_) \
    _Generic(((type_ *) 0)->member_, uint64_t: GGS_FROM_U64, int64_t: GGS_FROM_I64,                \
        uint32_t: GGS_FROM_U32, int: GGS_FROM_INT, bool: GGS_FROM_BOOL, double: GGS_FROM_DOUBLE, \
        const char *: GGS_FROM_TEXT, char *: GGS_FROM_CHARS)
// A member of the part.
#define GGS_MEMBER(part_, type_, member_) \
    { .from = GGS_MEMBER_KIND(type_, member_), .part = (part_), .offset = offsetof(type_, member_) }
// 0 becomes null: most members that refer to a row of another table.
#define GGS_MEMBER_OR_0(part_, type_, member_)                                           \
    {                                                                                    \
        .from = GGS_MEMBER_KIND(type_, member_), .null = GGS_NULL_ZERO, .part = (part_), \
        .offset = offsetof(type_, member_)                                               \
    }
// A negative number becomes null (layers, token steps, ends that were not seen); of texts: NULL or
// "".
#define GGS_MEMBER_OR_NONE(part_, type_, member_)                                                       \
    {                                                                                                   \
        .from = GGS_MEMBER_KIND(type_, member_), .part = (part_), .offset = offsetof(type_, member_), \
        .null = _Generic(((type_ *) 0)->member_, const char *: GGS_NULL_TEXT, char *: GGS_NULL_TEXT, default: GGS_NULL_NEGATIVE) \
    }
// A position in what another member refers to, such as a node of a run: null if that is 0.
#define GGS_MEMBER_WITH(part_, type_, member_, with_)                                    \
    {                                                                                    \
        .from = GGS_MEMBER_KIND(type_, member_), .null = GGS_NULL_WITH, .part = (part_), \
        .offset = offsetof(type_, member_), .with = offsetof(type_, with_)               \
    }
// A number of the trace as its word, or as the string with that number.
#define GGS_MEMBER_WORD(part_, type_, member_, word_) \
    { .from = GGS_FROM_U64, .part = (part_), .offset = offsetof(type_, member_), .word = (word_) }
#define GGS_MEMBER_WORD_OR_NONE(part_, type_, member_, word_)                                             \
    {                                                                                                     \
        .from = GGS_FROM_U64, .null = GGS_NULL_TEXT, .part = (part_), .offset = offsetof(type_, member_), \
        .word = (word_)                                                                                   \
    }
#define GGS_MEMBER_STRING(part_, type_, member_) \
    { .from = GGS_FROM_STRING, .part = (part_), .offset = offsetof(type_, member_) }
#define GGS_MEMBER_STRING_OR_NONE(part_, type_, member_) \
    { .from = GGS_FROM_STRING, .null = GGS_NULL_TEXT, .part = (part_), .offset = offsetof(type_, member_) }
// True if any of these bits is set; with UINT64_MAX: if it is not 0.
#define GGS_MEMBER_TEST(part_, type_, member_, mask_) \
    { .from = GGS_FROM_TEST, .part = (part_), .offset = offsetof(type_, member_), .mask = (mask_) }
// A function of the parts fills the cell, which is all 0 at the call.
#define GGS_CALL_OR_NONE(call_) \
    { .from = GGS_FROM_CALL, .null = GGS_NULL_TEXT, .call = (call_) }

#define GGS_FACT(fact_) \
    { .from = GGS_FROM_FACT, .null = GGS_NULL_TEXT, .fact = (fact_) }

// ---- tables ----

enum { GGS_FIELDS_MOST = 96, GGS_FOREIGN_MOST = 7 };

struct ggs_sink;

struct ggs_flat_table {
    const char *                   name;
    const char *                   description;
    unsigned                       keys;  // number of leading fields that form the key, by which rows ascend; 0: no key
    bool                           walks; // walks all runs
    const struct ggs_table_field * fields;
    unsigned                       n_fields;
    // The source of its rows: a function, or a table of the trace, row by row (part 0 is its
    // struct, part 1 its number, a uint64_t), optionally filtered.
    int (*produce)(const struct ggs_sink * sink, struct ggs_error * error);
    enum ggs_trace_table rows;
    bool (*wanted)(const struct ggs_export * export, const void * row);
    // References to other tables, ended by NULL. `theirs` NULL: their columns have the same names.
    struct ggs_foreign_key {
        const char *columns, *table, *theirs;
    } foreign[GGS_FOREIGN_MOST];
};
#define GGS_FIELDS(fields_) .fields = (fields_), .n_fields = sizeof(fields_) / sizeof((fields_)[0])

extern const struct ggs_flat_table ggs_table_ops, ggs_table_op_runs, ggs_table_accesses, ggs_table_experts;
extern const struct ggs_flat_table ggs_table_runs, ggs_table_tokens, ggs_table_inputs;
extern const struct ggs_flat_table ggs_table_graphs, ggs_table_nodes, ggs_table_edges;
extern const struct ggs_flat_table ggs_table_tensors, ggs_table_buffers, ggs_table_files, ggs_table_transfers;
extern const struct ggs_flat_table ggs_table_faults, ggs_table_off_cpu, ggs_table_block_requests, ggs_table_reads,
    ggs_table_residency;
extern const struct ggs_flat_table ggs_table_processes, ggs_table_devices, ggs_table_lanes, ggs_table_kernels,
    ggs_table_submits, ggs_table_streamed, ggs_table_windows;
extern const struct ggs_flat_table ggs_table_contexts, ggs_table_requests, ggs_table_request_steps,
    ggs_table_memory_changes;
extern const struct ggs_flat_table ggs_table_op_values, ggs_table_op_dumps, ggs_table_experiment;

const struct ggs_flat_table * ggs_flat_table_at(unsigned i); // NULL beyond the last
const struct ggs_flat_table * ggs_table_find(const char * name);
// True if this table is requested.
bool     ggs_table_wanted(const struct ggs_export_options * options, const struct ggs_flat_table * table);
unsigned ggs_tables_passes(const struct ggs_export_options * options);
// Calls `write` for each requested table, on all cores. A single table may be a stream and is
// written by this process.
int ggs_tables_write(struct ggs_export * export,
                     int (*write)(struct ggs_export * export, const struct ggs_flat_table * table,
                                  struct ggs_error * error),
                     struct ggs_error * error);
// True if this column can be null.
bool ggs_table_field_nullable(const struct ggs_table_field * field);
// Describes all tables and columns in Markdown.
void ggs_tables_describe(struct ggs_text * text);

// ---- SQL (sql.c) ----

// CREATE TABLE. `keys`: with the primary key, and with foreign keys to other exported tables.
void ggs_sql_table(struct ggs_text * sql, const struct ggs_flat_table * table,
                   const struct ggs_export_options * options, bool keys);
// CREATE VIEW for every view whose tables are exported.
void ggs_sql_views(struct ggs_text * sql, const struct ggs_export_options * options);

// ---- Parquet (parquet/parquet.c) ----

// Writes a table that belongs to no recording to one file. `row` fills the cells of row i, which
// are null at the call. Nullable columns have GGS_NULL_TEXT. `path` "-" is standard output.
int ggs_parquet_write(const struct ggs_flat_table * table, const char * path, uint64_t n_rows,
                      void (*row)(const void * context, uint64_t i, struct ggs_cell * cells), const void * context,
                      struct ggs_error * error);

// ---- rows ----

struct ggs_sink {
    // `cells` has one cell per field. Returns 0 or a negative status.
    int (*row)(void * context, const struct ggs_cell * cells, struct ggs_error * error);
    void * context;
    struct ggs_export * export;
    const struct ggs_flat_table * table;
    uint64_t                      columns; // bit set of needed columns; cells of others are null. 0: all
};

// Makes a row from its parts. Parts that no column uses may be NULL.
int ggs_sink_put(const struct ggs_sink * sink, const void * const * parts, struct ggs_error * error);

// Produces all rows of sink->table.
int ggs_sink_fill(const struct ggs_sink * sink, struct ggs_error * error);
// True if the step is among the requested ones.
bool ggs_export_has_step(const struct ggs_export * export, int64_t step);
