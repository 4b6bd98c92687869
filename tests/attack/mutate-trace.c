// mutate-trace IN OUT SEED CELLS: copies a trace with CELLS of its values changed and rows added to
// empty tables, with valid checksums: like a file made on purpose, or by an older or wrong program.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/format.h"
#include "trace/writer.h"

static uint64_t state;

static uint64_t random_number(void) { // xorshift64*
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dull;
}

// Values that are wrong as an id, a size, an offset or a time.
static uint64_t odd_value(uint64_t right) {
    switch (random_number() % 12) {
        case 0:
            return 0;
        case 1:
            return UINT64_MAX;
        case 2:
            return INT64_MAX;
        case 3:
            return (uint64_t) INT64_MIN;
        case 4:
            return right + 1;
        case 5:
            return right - 1;
        case 6:
            return right ^ 1ull << random_number() % 64;
        case 7:
            return UINT32_MAX;
        case 8:
            return 1ull << 32;
        case 9:
            return random_number();
        default:
            return random_number() % 1000;
    }
}

static void fail(const struct ggs_error * error) {
    fprintf(stderr, "mutate-trace: %s\n", error->text);
    exit(1);
}

// Copies a table. Changes cells [first, first + count) of the shuffled order, each with probability
// `share`.
static void copy_table(struct ggs_reader * reader, struct ggs_writer * writer, enum ggs_trace_table table,
                       double share) {
    const struct ggs_schema * schema = ggs_trace_schema(table);
    struct ggs_cursor *       cursor;
    struct ggs_error          error;
    uint64_t                  row[GGS_COLUMNS_MAX + 1];
    int                       more;
    if (schema == NULL) return;
    if (ggs_cursor_open(&cursor, reader, table, &error) < 0) fail(&error);
    bool bytes = schema->n_words > schema->n_columns; // the last two words are a pointer and a length
    while ((more = ggs_cursor_next(cursor, row, &error)) > 0) {
        uint64_t cells = bytes ? schema->n_words - 2 : schema->n_words;
        for (uint64_t i = 0; i < cells; i++) {
            if ((double) (random_number() >> 11) < share * 0x1p53) row[i] = odd_value(row[i]);
        }
        if (bytes && row[schema->n_words - 1] > 0 && (double) (random_number() >> 11) < share * 0x1p53)
            row[schema->n_words - 1] = random_number() % row[schema->n_words - 1];
        ggs_writer_append(writer, table, row);
    }
    if (more < 0) fail(&error);
    ggs_cursor_close(cursor);
}

// Adds rows to a table that the recording does not have: devices, kernels, windows, faults, losses.
static void add_rows(struct ggs_writer * writer, enum ggs_trace_table table) {
    const struct ggs_schema * schema = ggs_trace_schema(table);
    uint64_t                  row[GGS_COLUMNS_MAX + 1];
    if (schema == NULL || schema->n_words > schema->n_columns) return; // has bytes
    for (uint64_t n = 1 + random_number() % 6, i = 0; i < n; i++) {
        for (uint64_t k = 0; k < schema->n_words; k++)
            row[k] =
                random_number() % 4 == 0 ? odd_value(i + 1) : i + 1 + random_number() % 3 * (random_number() % 2000);
        if (random_number() % 4 != 0) row[0] = i + 1; // usually the expected number
        ggs_writer_append(writer, table, row);
    }
}

int main(int argc, char ** argv) {
    struct ggs_reader * reader;
    struct ggs_writer   writer = {0};
    struct ggs_error    error;
    if (argc != 5) {
        fputs("usage: mutate-trace IN OUT SEED CELLS\n", stderr);
        return 2;
    }
    state        = strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
    double cells = strtod(argv[4], NULL);
    if (ggs_reader_open(&reader, argv[1], &error) < 0) fail(&error);
    // In every second seed one table gets all changes; otherwise only cells of large tables would
    // ever change. Only some tables get rows, one time in four: a seed must mean the same if tables
    // are added.
    enum { TABLES = 37 };
    unsigned chosen = 1 + (unsigned) (random_number() % TABLES);
    int      fd     = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ggs_writer_init(&writer, fd, argv[2], ggs_reader_uuid(reader)) < 0) {
        perror(argv[2]);
        return 1;
    }
    uint64_t all = 0;
    for (unsigned table = 1; table < GGS_TABLE_COUNT; table++) all += ggs_reader_rows(reader, table) * 8;
    for (unsigned table = 1; table < GGS_TABLE_COUNT; table++) {
        uint64_t rows  = ggs_reader_rows(reader, table);
        double   share = random_number() % 2 == 0 ? cells / (double) all : 0;
        if (table == chosen && rows > 0) share = cells / (double) (rows * 8);
        copy_table(reader, &writer, table, share);
        if (rows > 0) continue;
        uint64_t before = state; // the changes to other tables must not depend on this
        state           = before ^ table * 0x9e3779b97f4a7c15ull;
        if (table == chosen || random_number() % 4 == 0) add_rows(&writer, table);
        state = before;
    }
    if (ggs_writer_finish(&writer, &error) < 0) fail(&error);
    ggs_writer_release(&writer);
    ggs_reader_close(reader);
    return close(fd);
}
