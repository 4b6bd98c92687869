// Tables as CSV (RFC 4180): a header, one line per row, quotes only where needed.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "export/formats.h"
#include "export/tables/tables.h"

struct csv {
    const struct ggs_flat_table * table;
    struct ggs_target             target;
    size_t                        used;
    char                          line[1 << 12]; // buffer for numbers and short texts
};

static void flush(struct csv * csv) {
    ggs_target_write(&csv->target, csv->line, csv->used);
    csv->used = 0;
}

static void put_char(struct csv * csv, char c) {
    if (csv->used == sizeof(csv->line)) flush(csv);
    csv->line[csv->used++] = c;
}

static void put(struct csv * csv, const char * data, size_t length) {
    if (length > sizeof(csv->line) - csv->used) flush(csv);
    if (length > sizeof(csv->line)) {
        ggs_target_write(&csv->target, data, length);
    } else {
        memcpy(csv->line + csv->used, data, length);
        csv->used += length;
    }
}

static void put_integer(struct csv * csv, int64_t value) {
    char     digits[24];
    size_t   at   = sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t) value : (uint64_t) value;
    do {
        digits[--at] = (char) ('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) digits[--at] = '-';
    put(csv, digits + at, sizeof(digits) - at);
}

static void put_real(struct csv * csv, double value) {
    char text[32];
    if (!isfinite(value)) return; // written as null: CSV has no common notation for it
    for (int digits = 9; digits <= 17; digits = digits < 15 ? 15 : digits + 1) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    put(csv, text, strlen(text));
}

// An empty text is quoted, to distinguish it from null.
static void put_text(struct csv * csv, const char * text, size_t length) {
    bool quoted = length == 0 || text[0] == ' ' || text[length - 1] == ' ';
    for (size_t i = 0; i < length && !quoted; i++)
        quoted = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r' || text[i] == '\0';
    if (!quoted) {
        put(csv, text, length);
        return;
    }
    put_char(csv, '"');
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"') put_char(csv, '"');
        put_char(csv, text[i]);
    }
    put_char(csv, '"');
}

// 2026-11-15T05:26:37.435000000Z
static void put_moment(struct csv * csv, int64_t ns) {
    char text[GGS_MOMENT_LENGTH];
    ggs_moment_format(text, ns);
    put(csv, text, strlen(text));
}

static int put_row(void * context, const struct ggs_cell * cells, struct ggs_error * error) {
    struct csv * csv = context;
    for (unsigned i = 0; i < csv->table->n_fields; i++) {
        if (i > 0) put_char(csv, ',');
        if (cells[i].null) continue;
        switch (csv->table->fields[i].type) {
            case GGS_CELL_INTEGER:
            case GGS_CELL_BOOLEAN:
                put_integer(csv, cells[i].integer);
                break;
            case GGS_CELL_REAL:
                put_real(csv, cells[i].real);
                break;
            case GGS_CELL_TIME:
                put_moment(csv, cells[i].integer);
                break;
            default:
                put_text(csv, cells[i].text, cells[i].length);
        }
    }
    put_char(csv, '\n');
    return ggs_target_result(&csv->target, error);
}

static int write_rows(struct ggs_export * export, struct csv * csv, struct ggs_error * error) {
    char name[64];
    snprintf(name, sizeof(name), "%s.csv", csv->table->name);
    int status = ggs_export_open(export, &csv->target, export->options->n_tables == 1 ? NULL : name, error);
    if (status < 0) return status;
    for (unsigned i = 0; i < csv->table->n_fields; i++) {
        if (i > 0) put_char(csv, ',');
        put(csv, csv->table->fields[i].name, strlen(csv->table->fields[i].name));
    }
    put_char(csv, '\n');
    struct ggs_sink sink = {put_row, csv, export, csv->table, 0};
    status               = ggs_sink_fill(&sink, error);
    flush(csv);
    return ggs_export_close(export, &csv->target, status, error);
}

static int write_table(struct ggs_export * export, const struct ggs_flat_table * table, struct ggs_error * error) {
    struct csv * csv = calloc(1, sizeof(*csv));
    if (csv == NULL) return ggs_fail_memory(error);
    csv->table = table;
    int status = write_rows(export, csv, error);
    free(csv);
    return status;
}

// ---- the schema, as SQL scripts ----

static int write_sql(struct ggs_export * export, const char * name, const struct ggs_text * sql,
                     struct ggs_error * error) {
    struct ggs_target target;
    int               status = sql->failed ? ggs_fail_memory(error) : ggs_export_open(export, &target, name, error);
    if (status < 0) return status;
    ggs_target_text(&target, ggs_text_string(sql));
    return ggs_export_close(export, &target, 0, error);
}

// SQLite's .import writes "" for an empty field, and text for numbers in a column without a type.
static void load_sqlite(struct ggs_text * sql, const struct ggs_flat_table * table, const char * extension) {
    ggs_text_printf(sql, ".import --csv --skip 1 %s%s%s%s %s\n", extension[0] == '\0' ? "" : "\"|gzip -dc ",
                    table->name, ".csv", extension[0] == '\0' ? "" : ".gz\"", table->name);
    const char * separator = "";
    for (unsigned i = 0; i < table->n_fields; i++) {
        const struct ggs_table_field * field = &table->fields[i];
        if (!ggs_table_field_nullable(field)) continue;
        if (separator[0] == '\0') ggs_text_printf(sql, "UPDATE \"%s\" SET ", table->name);
        ggs_text_printf(sql, "%s\"%s\" = nullif(\"%s\", '')", separator, field->name, field->name);
        separator = ", ";
    }
    if (separator[0] != '\0') ggs_text_puts(sql, ";\n");
}

static int write_schema(struct ggs_export * export, struct ggs_error * error) {
    const struct ggs_export_options * o         = export->options;
    const char *                      extension = o->gzip ? ".gz" : "";
    struct ggs_text                   schema = {0}, duckdb = {0}, sqlite = {0};
    const struct ggs_flat_table *     table;
    ggs_text_printf(&schema, "-- The tables of experiment %s, for DuckDB and for SQLite.\n", export->id);
    ggs_text_puts(&duckdb, "-- duckdb recording.duckdb < load-duckdb.sql, in this directory\n.read schema.sql\n");
    ggs_text_puts(&sqlite, "-- sqlite3 recording.sqlite < load-sqlite.sql, in this directory\n.read schema.sql\n");
    for (unsigned i = 0; (table = ggs_flat_table_at(i)) != NULL; i++) {
        if (!ggs_table_wanted(o, table)) continue;
        ggs_sql_table(&schema, table, o, false);
        ggs_text_printf(&duckdb, "COPY \"%s\" FROM '%s.csv%s' (HEADER);\n", table->name, table->name, extension);
        load_sqlite(&sqlite, table, extension);
    }
    ggs_sql_views(&schema, o);
    int status = write_sql(export, "schema.sql", &schema, error);
    if (status == 0) status = write_sql(export, "load-duckdb.sql", &duckdb, error);
    if (status == 0) status = write_sql(export, "load-sqlite.sql", &sqlite, error);
    ggs_text_release(&schema);
    ggs_text_release(&duckdb);
    ggs_text_release(&sqlite);
    return status;
}

int ggs_export_csv(struct ggs_export * export, struct ggs_error * error) {
    int status = ggs_tables_write(export, write_table, error);
    return status < 0 || export->options->n_tables == 1 ? status : write_schema(export, error);
}
