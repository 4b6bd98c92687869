// Tables as RFC 4180 has them: a header, one line per row, fields quoted where they must be.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "export/formats.h"
#include "export/tables/tables.h"

struct csv {
    const struct ggs_flat_table * table;
    struct ggs_stream             stream;
    size_t                        used;
    char                          line[1 << 12]; // numbers and short texts gather here
};

static void flush(struct csv * csv) {
    ggs_stream_write(&csv->stream, csv->line, csv->used);
    csv->used = 0;
}

static void put_char(struct csv * csv, char c) {
    if (csv->used == sizeof(csv->line)) flush(csv);
    csv->line[csv->used++] = c;
}

static void put(struct csv * csv, const char * data, size_t length) {
    if (length > sizeof(csv->line) - csv->used) flush(csv);
    if (length > sizeof(csv->line)) {
        ggs_stream_write(&csv->stream, data, length);
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
    if (!isfinite(value)) return; // as null: csv has no word for it that all readers know
    for (int digits = 9; digits <= 17; digits = digits < 15 ? 15 : digits + 1) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    put(csv, text, strlen(text));
}

// An empty text is quoted, which tells it from null.
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

static int put_row(void * context, const struct ggs_cell * cells, struct ggs_error * error) {
    struct csv * csv = context;
    for (unsigned i = 0; i < csv->table->n_fields; i++) {
        if (i > 0) put_char(csv, ',');
        if (cells[i].null) continue;
        switch (csv->table->fields[i].type) {
            case GGS_CELL_INTEGER:
                put_integer(csv, cells[i].integer);
                break;
            case GGS_CELL_REAL:
                put_real(csv, cells[i].real);
                break;
            case GGS_CELL_TEXT:
                put_text(csv, cells[i].text, cells[i].length);
                break;
        }
    }
    put_char(csv, '\n');
    return csv->stream.failed ? ggs_fail_errno(error, "cannot write the table %s", csv->table->name) : 0;
}

static int write_table(struct ggs_export * export, struct csv * csv, struct ggs_error * error) {
    char name[64];
    snprintf(name, sizeof(name), "%s.csv", csv->table->name);
    int status = ggs_export_open(export, &csv->stream, export->options->n_tables == 1 ? NULL : name, error);
    if (status < 0) return status;
    csv->used = 0;
    for (unsigned i = 0; i < csv->table->n_fields; i++) {
        if (i > 0) put_char(csv, ',');
        put(csv, csv->table->fields[i].name, strlen(csv->table->fields[i].name));
    }
    put_char(csv, '\n');
    struct ggs_sink sink = {put_row, csv};
    status               = csv->table->produce(export, &sink, error);
    flush(csv);
    return ggs_export_close(export, &csv->stream, status, error);
}

int ggs_export_csv(struct ggs_export * export, struct ggs_error * error) {
    struct csv * csv = calloc(1, sizeof(*csv));
    if (csv == NULL) return ggs_fail_memory(error);
    int status = 0;
    for (unsigned i = 0; status >= 0 && (csv->table = ggs_table(i)) != NULL; i++) {
        if (ggs_table_wanted(export->options, csv->table)) status = write_table(export, csv, error);
    }
    free(csv);
    return status;
}
