#include "export/tables/tables.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "export/metadata.h"
#include "export/workers.h"

static const struct ggs_flat_table * const tables[] = {
    &ggs_table_ops,        &ggs_table_op_runs,       &ggs_table_accesses,       &ggs_table_experts,
    &ggs_table_runs,       &ggs_table_tokens,        &ggs_table_inputs,         &ggs_table_graphs,
    &ggs_table_nodes,      &ggs_table_edges,         &ggs_table_tensors,        &ggs_table_buffers,
    &ggs_table_files,      &ggs_table_transfers,     &ggs_table_faults,         &ggs_table_block_requests,
    &ggs_table_reads,      &ggs_table_residency,     &ggs_table_processes,      &ggs_table_devices,
    &ggs_table_lanes,      &ggs_table_kernels,       &ggs_table_submits,        &ggs_table_windows,
    &ggs_table_streamed,   &ggs_table_op_values,     &ggs_table_op_dumps,       &ggs_table_contexts,
    &ggs_table_requests,   &ggs_table_request_steps, &ggs_table_memory_changes, &ggs_table_off_cpu,
    &ggs_table_experiment,
};
enum { N_TABLES = sizeof(tables) / sizeof(tables[0]) };

const struct ggs_flat_table * ggs_flat_table_at(unsigned i) {
    return i < N_TABLES ? tables[i] : NULL;
}

const struct ggs_flat_table * ggs_table_find(const char * name) {
    for (unsigned i = 0; i < N_TABLES; i++) {
        if (strcmp(tables[i]->name, name) == 0) return tables[i];
    }
    return NULL;
}

bool ggs_table_wanted(const struct ggs_export_options * options, const struct ggs_flat_table * table) {
    if (options->n_tables == 0) return true;
    for (unsigned i = 0; i < options->n_tables; i++) {
        if (strcmp(options->tables[i], table->name) == 0) return true;
    }
    return false;
}

unsigned ggs_tables_passes(const struct ggs_export_options * options) {
    unsigned passes = 0;
    for (unsigned i = 0; i < N_TABLES; i++) passes += tables[i]->walks && ggs_table_wanted(options, tables[i]);
    return passes;
}

bool ggs_table_field_nullable(const struct ggs_table_field * field) {
    return field->value.null != GGS_NULL_NEVER;
}

struct writer {
    int (*write)(struct ggs_export * export, const struct ggs_flat_table * table, struct ggs_error * error);
};

static int write_table(struct ggs_export * export, unsigned i, void * writer, struct ggs_error * error) {
    if (!ggs_table_wanted(export->options, tables[i])) return 0;
    return ((const struct writer *) writer)->write(export, tables[i], error);
}

int ggs_tables_write(struct ggs_export * export,
                     int (*write)(struct ggs_export * export, const struct ggs_flat_table * table,
                                  struct ggs_error * error),
                     struct ggs_error * error) {
    struct writer writer = {write};
    int           status = 0;
    if (export->options->n_tables != 1) return ggs_workers_run(export, N_TABLES, write_table, &writer, error);
    for (unsigned i = 0; i < N_TABLES && status >= 0; i++) status = write_table(export, i, &writer, error);
    return status;
}

bool ggs_export_has_step(const struct ggs_export * export, int64_t step) {
    const struct ggs_export_options * o = export->options;
    return (!o->steps || (step >= o->first_step && step <= o->last_step)) && ggs_trace_has_step(&export->trace, step);
}

// ---- rows ----

// NULL becomes null.
static void set_text(struct ggs_cell * cell, const char * text) {
    cell->text   = text;
    cell->null   = text == NULL;
    cell->length = text == NULL ? 0 : strlen(text);
}

static void fill_number(struct ggs_cell * cell, const struct ggs_value * value, int64_t number) {
    cell->integer = number;
    cell->null    = value->null == GGS_NULL_ZERO ? number == 0 : value->null == GGS_NULL_NEGATIVE && number < 0;
    if (value->word != NULL) set_text(cell, value->word((uint64_t) number));
}

static void fill(struct ggs_export * export, const struct ggs_table_field * field, const void * const * parts,
                 struct ggs_cell * cell) {
    const struct ggs_value * value = &field->value;
    const void * at = value->from < GGS_FROM_CALL ? (const char *) parts[value->part] + value->offset : NULL;
    uint64_t     number;
    if (value->null == GGS_NULL_WITH) {
        memcpy(&number, (const char *) parts[value->part] + value->with, sizeof(number));
        cell->null = number == 0;
        if (cell->null) return;
    }
    switch (value->from) {
        case GGS_FROM_U64:
        case GGS_FROM_I64:
            memcpy(&number, at, sizeof(number));
            fill_number(cell, value, (int64_t) number);
            break;
        case GGS_FROM_U32:
            fill_number(cell, value, *(const uint32_t *) at);
            break;
        case GGS_FROM_INT:
            fill_number(cell, value, *(const int *) at);
            break;
        case GGS_FROM_BOOL:
            fill_number(cell, value, *(const bool *) at);
            break;
        case GGS_FROM_DOUBLE:
            cell->null = false;
            cell->real = *(const double *) at;
            break;
        case GGS_FROM_TEXT:
            set_text(cell, *(const char * const *) at);
            break;
        case GGS_FROM_CHARS:
            set_text(cell, value->null == GGS_NULL_TEXT && *(const char *) at == '\0' ? NULL : at);
            break;
        case GGS_FROM_STRING:
            memcpy(&number, at, sizeof(number));
            set_text(cell, number == 0 && value->null == GGS_NULL_TEXT
                               ? NULL
                               : ggs_export_valid(export, ggs_reader_string(export->trace.reader, number)));
            break;
        case GGS_FROM_TEST:
            memcpy(&number, at, sizeof(number));
            fill_number(cell, value, (number & value->mask) != 0);
            break;
        case GGS_FROM_CALL:
            *cell = (struct ggs_cell){0};
            value->call(export, parts, cell);
            break;
        case GGS_FROM_FACT:
            if (field->type == GGS_CELL_TEXT) {
                set_text(cell, ggs_metadata_text(export->facts, value->fact));
            } else if (field->type == GGS_CELL_REAL) {
                cell->null = !ggs_metadata_real(export->facts, value->fact, &cell->real);
            } else if (field->type == GGS_CELL_BOOLEAN) {
                cell->null = !ggs_metadata_boolean(export->facts, value->fact, &cell->integer);
            } else {
                cell->null = !ggs_metadata_number(export->facts, value->fact, &cell->integer);
            }
            break;
    }
}

int ggs_sink_put(const struct ggs_sink * sink, const void * const * parts, struct ggs_error * error) {
    struct ggs_cell cells[GGS_FIELDS_MOST];
    for (unsigned i = 0; i < sink->table->n_fields; i++) {
        if (sink->columns != 0 && (sink->columns >> i & 1) == 0) {
            cells[i] = (struct ggs_cell){.null = true};
            continue;
        }
        fill(sink->export, &sink->table->fields[i], parts, &cells[i]);
        if (cells[i].null && !ggs_table_field_nullable(&sink->table->fields[i])) set_text(&cells[i], "");
    }
    return sink->row(sink->context, cells, error);
}

static int copy_rows(const struct ggs_sink * sink, struct ggs_error * error) {
    enum { MOST_WORDS = 64 };
    struct ggs_cursor *  cursor = NULL;
    uint64_t             row[MOST_WORDS], number;
    enum ggs_trace_table table = sink->table->rows;
    if (ggs_trace_schema(table)->n_words > MOST_WORDS)
        return ggs_fail(error, GGS_UNSUPPORTED, "rows of %s are too long", ggs_trace_schema(table)->name);
    int status = ggs_cursor_open(&cursor, sink->export->trace.reader, table, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, row, error)) > 0) {
        if (sink->table->wanted != NULL && !sink->table->wanted(sink->export, row)) continue;
        number = ggs_cursor_row(cursor);
        status = ggs_sink_put(sink, (const void *[]){row, &number}, error);
    }
    ggs_cursor_close(cursor);
    return status;
}

int ggs_sink_fill(const struct ggs_sink * sink, struct ggs_error * error) {
    return sink->table->produce != NULL ? sink->table->produce(sink, error) : copy_rows(sink, error);
}

// ---- docs/tables.md ----

void ggs_tables_describe(struct ggs_text * text) {
    static const char * const types[GGS_CELL_TYPES] = {[GGS_CELL_INTEGER] = "integer",
                                                       [GGS_CELL_BOOLEAN] = "boolean",
                                                       [GGS_CELL_REAL]    = "real",
                                                       [GGS_CELL_TEXT]    = "text",
                                                       [GGS_CELL_TIME]    = "timestamp"};
    ggs_text_puts(
        text,
        "# The tables of an export\n\n"
        "Which tables and columns does a recording have? `ggscope sql DIR 'SELECT ...'` reads them from the\n"
        "trace itself; `ggscope export DIR --format csv|sqlite|parquet -o OUT` writes them; `ggscope export\n"
        "--tables` writes this page. Columns of the same name join; an op is identified by (run, node).\n\n"
        "| type | csv | sqlite | parquet |\n|---|---|---|---|\n"
        "| integer | digits | INTEGER | INT64 |\n"
        "| boolean | 0 or 1 | BOOLEAN: 0 or 1 | BOOLEAN |\n"
        "| real | shortest digits that read back equal | REAL | DOUBLE |\n"
        "| text | quoted if it must be | TEXT | UTF-8 |\n"
        "| timestamp | 2026-11-15T05:26:37.435000000Z | TIMESTAMP: the same text | TIMESTAMP, UTC, nanoseconds |\n"
        "| null | empty | NULL | null |\n\n"
        "Columns that end in _ns are integers: nanoseconds since the experiment's start, or a duration in\n"
        "nanoseconds. Columns that end in _utc are timestamps; experiment.start_utc is 0 ns.\n\n"
        "A csv export has `schema.sql` beside the tables: types and views for DuckDB and SQLite, which csv\n"
        "itself cannot hold. `load-duckdb.sql` and `load-sqlite.sql` read it and fill the tables:\n\n"
        "    cd OUT && duckdb recording.duckdb < load-duckdb.sql\n"
        "    cd OUT && sqlite3 recording.sqlite < load-sqlite.sql\n\n"
        "An sqlite export has primary keys, foreign keys and the same views: op_totals, layer_totals,\n"
        "token_totals and weight_reads.\n\n"
        "With `--token A..B`, `--request N`, `--sequence N` or `--context N` the tables ops, op_runs,\n"
        "accesses, experts, runs, tokens, inputs, faults, block_requests and request_steps are limited to\n"
        "those token steps; the others are whole.\n");
    for (unsigned i = 0; i < N_TABLES; i++) {
        const struct ggs_flat_table * table = tables[i];
        struct ggs_text               about = {0};
        ggs_text_puts(&about, table->description);
        for (unsigned k = 0; k < table->keys; k++)
            ggs_text_printf(&about, "%s%s", k == 0 ? " Key: " : ", ", table->fields[k].name);
        if (table->keys > 0) ggs_text_putc(&about, '.');
        ggs_text_printf(text, "\n## %s\n", table->name);
        ggs_text_paragraph(text, ggs_text_string(&about), 0);
        text->failed |= about.failed;
        ggs_text_release(&about);
        ggs_text_puts(text, "\n| column | type | what it is |\n|---|---|---|\n");
        for (unsigned f = 0; f < table->n_fields; f++) {
            const struct ggs_table_field * field = &table->fields[f];
            ggs_text_printf(text, "| %s | %s%s | %s |\n", field->name, types[field->type],
                            ggs_table_field_nullable(field) ? " or null" : "", field->description);
        }
    }
}
