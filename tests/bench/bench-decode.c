// The lower bound for readers of a trace: decodes the columns of graph runs, op runs and index
// data. Prints milliseconds.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "trace/reader.h"

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

int main(int argc, char ** argv) {
    struct ggs_reader * reader;
    struct ggs_error    error;
    uint64_t            sum   = 0;
    double              begin = now_ms();
    if (argc != 2 || ggs_reader_open(&reader, argv[1], &error) < 0) {
        fprintf(stderr, "bench-decode: %s\n", argc != 2 ? "usage: bench-decode TRACE" : error.text);
        return 2;
    }
    const enum ggs_trace_table tables[] = {GGS_TABLE_RUNS, GGS_TABLE_OP_RUNS, GGS_TABLE_INDEX};
    for (int i = 0; i < 3; i++) {
        struct ggs_cursor *      cursor;
        const uint64_t * const * words;
        uint64_t                 rows;
        if (ggs_cursor_open(&cursor, reader, tables[i], &error) < 0) return 1;
        while (ggs_cursor_next_chunk(cursor, &words, &rows, &error) > 0) {
            for (uint32_t w = 0; w < ggs_trace_schema(tables[i])->n_words; w++) sum += words[w][rows - 1];
        }
        ggs_cursor_close(cursor);
    }
    ggs_reader_close(reader);
    printf("%.2f\n", now_ms() - begin + (sum == 1 ? 1 : 0)); // keeps the reads
    return 0;
}
