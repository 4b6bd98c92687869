// Prints tables of a trace as JSON lines, for tests that look at rows.
//     trace-dump EXPERIMENT TABLE...
// Every row is one object: "table" and the columns by name. String columns are resolved, bytes are
// in hexadecimal.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "trace/reader.h"

static void fail(const struct ggs_error * error) {
    fprintf(stderr, "trace-dump: %s\n", error->text);
    exit(1);
}

static enum ggs_trace_table find_table(const char * name) {
    for (int t = 1; t < GGS_TABLE_COUNT; t++) {
        const struct ggs_schema * schema = ggs_trace_schema((enum ggs_trace_table) t);
        if (schema != NULL && strcmp(schema->name, name) == 0) return (enum ggs_trace_table) t;
    }
    fprintf(stderr, "trace-dump: there is no table '%s'\n", name);
    exit(2);
}

static void write_bytes(struct ggs_json * json, const char * key, const uint8_t * data, uint64_t length) {
    static const char digits[] = "0123456789abcdef";
    char *            text     = malloc(2 * length + 1);
    if (text == NULL) abort();
    for (uint64_t i = 0; i < length; i++) {
        text[2 * i]     = digits[data[i] >> 4];
        text[2 * i + 1] = digits[data[i] & 15];
    }
    ggs_json_string_n(json, key, text, 2 * length);
    free(text);
}

static void write_string(struct ggs_json * json, const char * key, struct ggs_reader * reader, uint64_t number) {
    uint64_t     length = 0;
    const void * bytes  = ggs_reader_bytes(reader, number, &length);
    if (strcmp(key, "parameters") == 0) { // a string that holds no text
        write_bytes(json, key, bytes, bytes == NULL ? 0 : length);
    } else {
        ggs_json_string(json, key, ggs_reader_string(reader, number));
    }
}

static void write_row(struct ggs_json * json, struct ggs_reader * reader, const struct ggs_schema * schema,
                      const uint64_t * row) {
    ggs_json_object(json, NULL);
    ggs_json_string(json, "table", schema->name);
    for (uint32_t i = 0; i < schema->n_columns; i++) {
        const struct ggs_column * column = &schema->columns[i];
        switch (column->type) {
            case GGS_COLUMN_I64:
            case GGS_COLUMN_TIME:
                ggs_json_i64(json, column->name, (int64_t) row[i]);
                break;
            case GGS_COLUMN_STRING:
                write_string(json, column->name, reader, row[i]);
                break;
            case GGS_COLUMN_REAL: {
                double real;
                memcpy(&real, &row[i], sizeof(real));
                ggs_json_double(json, column->name, real);
                break;
            }
            case GGS_COLUMN_BYTES:
                write_bytes(json, column->name, (const uint8_t *) (uintptr_t) row[i], row[i + 1]);
                break;
            default:
                ggs_json_u64(json, column->name, row[i]);
        }
    }
    ggs_json_end(json);
}

static void dump(struct ggs_reader * reader, enum ggs_trace_table table) {
    enum { WORDS = 64 };
    const struct ggs_schema * schema = ggs_trace_schema(table);
    struct ggs_cursor *       cursor;
    struct ggs_error          error;
    struct ggs_json           json;
    uint64_t                  row[WORDS];
    int                       more;
    if (schema->n_words > WORDS) abort();
    if (ggs_cursor_open(&cursor, reader, table, &error) < 0) fail(&error);
    while ((more = ggs_cursor_next(cursor, row, &error)) > 0) {
        ggs_json_init(&json, ggs_json_to_file, stdout, false);
        write_row(&json, reader, schema, row);
        if (ggs_json_finish(&json) != 0) exit(1);
        putchar('\n');
    }
    if (more < 0) fail(&error);
    ggs_cursor_close(cursor);
}

int main(int argc, char ** argv) {
    struct ggs_reader * reader;
    struct ggs_error    error;
    if (argc < 3) {
        fprintf(stderr, "Usage: trace-dump EXPERIMENT TABLE...\n");
        return 2;
    }
    if (ggs_reader_open(&reader, argv[1], &error) < 0) fail(&error);
    for (int i = 2; i < argc; i++) dump(reader, find_table(argv[i]));
    ggs_reader_close(reader);
    return fflush(stdout) == 0 ? 0 : 1;
}
