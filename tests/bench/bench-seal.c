// Measures sealing relative to compression: seals a spool repeatedly, and compresses the result
// with zstd level 1, both as plain columns of integers and as the encoded columns of the file.
// Prints one JSON line; ratios are of medians, all measured in turn.
//     bench-seal SPOOL TRACE PART
// seals at the end, then in the background into PART, which removes the spool's segments, and then
// the rest: the end of a recording that was sealed while it ran.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.h"
#include "base/system/file.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/seal/incremental.h"
#include "trace/seal/seal.h"

enum { ROUNDS = 9 };

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static int by_value(const void * a, const void * b) {
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

static void die(const char * sentence) {
    fprintf(stderr, "bench-seal: %s\n", sentence);
    exit(1);
}

// The op runs as columns of 64-bit integers: read (not timed) and compressed (timed).
static double plain_ms(const char * path) {
    struct ggs_reader *      reader;
    struct ggs_cursor *      cursor = NULL;
    struct ggs_error         error;
    const uint64_t * const * words;
    uint64_t                 rows;
    double                   total = 0;
    if (ggs_reader_open(&reader, path, &error) < 0 || ggs_cursor_open(&cursor, reader, GGS_TABLE_OP_RUNS, &error) < 0)
        die(error.text);
    unsigned n_words = ggs_trace_schema(GGS_TABLE_OP_RUNS)->n_words;
    while (ggs_cursor_next_chunk(cursor, &words, &rows, &error) > 0) {
        size_t bytes = rows * sizeof(uint64_t), bound = ZSTD_compressBound(bytes);
        char * packed = malloc(bound + 1);
        if (packed == NULL) die("out of memory");
        double begin = now_ms();
        for (unsigned i = 0; i < n_words; i++) {
            if (ZSTD_isError(ZSTD_compress(packed, bound, words[i], bytes, 1))) die("zstd failed");
        }
        total += now_ms() - begin;
        free(packed);
    }
    ggs_cursor_close(cursor);
    ggs_reader_close(reader);
    return total;
}

// Decompresses every chunk (not timed) and compresses it again (timed).
static double encoded_ms(const char * path) {
    struct ggs_mapping file;
    struct ggs_error   error;
    double             total = 0;
    if (ggs_mapping_open(&file, path, &error) < 0) die(error.text);
    for (uint64_t at = sizeof(struct ggs_trace_header); at + sizeof(struct ggs_chunk_header) < file.size;) {
        struct ggs_chunk_header header;
        memcpy(&header, file.data + at, sizeof(header));
        if (memcmp(header.id, GGS_CHUNK_ROWS_ID, sizeof(header.id)) != 0) break; // the index follows
        size_t bound = ZSTD_compressBound(header.raw);
        char * raw = malloc(header.raw + 1), *packed = malloc(bound + 1);
        if (raw == NULL || packed == NULL) die("out of memory");
        if (ZSTD_decompress(raw, header.raw, file.data + at + sizeof(header), header.stored) != header.raw)
            die("a chunk is damaged");
        double begin = now_ms();
        if (ZSTD_isError(ZSTD_compress(packed, bound, raw, header.raw, 1))) die("zstd failed");
        total += now_ms() - begin;
        free(raw);
        free(packed);
        at =
            (at + sizeof(header) + header.stored + GGS_CHUNK_ALIGNMENT - 1) / GGS_CHUNK_ALIGNMENT * GGS_CHUNK_ALIGNMENT;
    }
    ggs_mapping_close(&file);
    return total;
}

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

// Wall and CPU time of sealing the current contents.
static void seal_once(const char * spool, const char * trace, const char * part, struct ggs_seal_result * result,
                      double ms[2]) {
    struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true, .part = part};
    struct ggs_error        error;
    double                  begin = now_ms(), cpu = cpu_ms();
    if (ggs_seal_spool(spool, trace, NULL, &options, result, &error) < 0) die(error.text);
    ms[0] = now_ms() - begin;
    ms[1] = cpu_ms() - cpu;
}

static int in_the_background(const char * spool, const char * trace, const char * part) {
    struct ggs_seal_result   whole, rest;
    struct ggs_incremental * background;
    struct ggs_error         error;
    double                   at_the_end[2], the_rest[2];
    int                      status = 1;
    seal_once(spool, trace, NULL, &whole, at_the_end);
    double begin = now_ms(), cpu = cpu_ms();
    if (ggs_incremental_open(&background, spool, part, 0, &error) < 0) die(error.text);
    while (status > 0) status = ggs_incremental_step(background, UINT64_MAX, UINT64_MAX, &error);
    if (status < 0) die(error.text);
    ggs_incremental_close(background);
    double meanwhile = now_ms() - begin, meanwhile_cpu = cpu_ms() - cpu;
    seal_once(spool, trace, part, &rest, the_rest);
    if (rest.op_runs != whole.op_runs || rest.bytes != whole.bytes) die("the trace is not the same");
    unlink(trace);
    unlink(part);
    printf(
        "{\"op_runs\": %llu, \"runs\": %llu, \"spool_bytes\": %llu, \"spool_bytes_left\": %llu, \"trace_bytes\": %llu, "
        "\"at_the_end_ms\": %.1f, \"at_the_end_cpu_ms\": %.1f, \"in_the_background_ms\": %.1f, "
        "\"in_the_background_cpu_ms\": %.1f, \"the_rest_ms\": %.1f, \"the_rest_cpu_ms\": %.1f}\n",
        (unsigned long long) whole.op_runs, (unsigned long long) whole.runs, (unsigned long long) whole.spool_bytes,
        (unsigned long long) rest.spool_bytes, (unsigned long long) whole.bytes, at_the_end[0], at_the_end[1],
        meanwhile, meanwhile_cpu, the_rest[0], the_rest[1]);
    return 0;
}

int main(int argc, char ** argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: bench-seal SPOOL TRACE [PART]\n");
        return 2;
    }
    if (argc > 3) return in_the_background(argv[1], argv[2], argv[3]);
    double                  seal[ROUNDS], plain[ROUNDS], encoded[ROUNDS];
    struct ggs_seal_result  result  = {0};
    struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true};
    struct ggs_error        error;
    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_ms();
        if (ggs_seal_spool(argv[1], argv[2], NULL, &options, &result, &error) < 0) die(error.text);
        seal[i]    = now_ms() - begin;
        plain[i]   = plain_ms(argv[2]);
        encoded[i] = encoded_ms(argv[2]);
    }
    unlink(argv[2]);
    qsort(seal, ROUNDS, sizeof(*seal), by_value);
    qsort(plain, ROUNDS, sizeof(*plain), by_value);
    qsort(encoded, ROUNDS, sizeof(*encoded), by_value);
    double s = seal[ROUNDS / 2], p = plain[ROUNDS / 2], e = encoded[ROUNDS / 2];
    printf(
        "{\"op_runs\": %llu, \"seal_ms\": %.1f, \"zstd_of_plain_columns_ms\": %.1f, \"ratio\": %.2f, \"zstd_of_encoded_columns_ms\": %.1f, "
        "\"ratio_to_encoded\": %.2f}\n",
        (unsigned long long) result.op_runs, s, p, s / p, e, s / e);
    return 0;
}
