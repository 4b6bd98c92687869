// Writes the seeds of fuzz-trace and fuzz-spool below a folder. To build and run it, from the top
// of the tree:
//   cc -std=c11 -D_GNU_SOURCE -Isrc -Itests/unit tests/fuzz/make-trace-seeds.c tests/unit/spool-fixture.c
//      tests/unit/trace-fixture.c src/trace/*.c src/trace/seal/*.c src/base/*.c -lzstd -lxxhash -lcmocka -lm -o make-trace-seeds
//   ./make-trace-seeds tests/fuzz/seeds
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include <cmocka.h>

#include "base/system/file.h"
#include "trace-fixture.h"
#include "trace/format.h"

static void save(const char * folder, const char * name, const uint8_t * data, size_t size) {
    char path[4096];
    mkdir(folder, 0777);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE * file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

// One of everything that a journal can tell.
static void tell_everything(struct spool_fixture * f) {
    static const int32_t              tokens[] = {1, 2, 3};
    const struct ggs_journal_buffer   buffer   = {1, 0x10000, 0x1000, 1, 1};
    const struct ggs_journal_delta    delta    = {2, 1, 0};
    const struct ggs_journal_transfer set = {.kind = 1, .from = 0x100010, .to = 0x10000, .to_buffer = 1, .bytes = 8};
    fixture_process(f);
    fixture_numbers(f, GGS_JOURNAL_LOAD, 1, 0, 0, 0, "/m.gguf");
    fixture_record(f, GGS_JOURNAL_FILE, NULL, 0, "/m.gguf");
    fixture_record(f, GGS_JOURNAL_MAPS, NULL, 0, "100000 101000 0 /m.gguf\n");
    fixture_record(f, GGS_JOURNAL_BUFFER, &buffer, sizeof(buffer), "CPU");
    fixture_record(f, GGS_JOURNAL_TRANSFER, &set, sizeof(set), "w");
    fixture_numbers(f, GGS_JOURNAL_LOAD_END, 1, 2, 0, 0, NULL);
    fixture_numbers(f, GGS_JOURNAL_CONTEXT, 7, 2, 70, 0, NULL);
    tiny_graph(f, 1);
    fixture_record(f, GGS_JOURNAL_GRAPH_DELTA, &delta, sizeof(delta), NULL);
    fixture_decode(f, 1, 7, 3, tokens, 0, 0, 1);
    fixture_numbers(f, GGS_JOURNAL_SCHEDULE, 1, 50, 1, 7, NULL);
    tiny_run(f, 1, 1, 1, 2, 0, 3, tokens, 0);
    fixture_numbers(f, GGS_JOURNAL_SCHEDULE_END, 1, 0, 0, 0, NULL);
    fixture_decode_end(f, 1, 0);
    fixture_numbers(f, GGS_JOURNAL_CLEAR, 70, 0, 0, 0, NULL);
    tiny_run(f, 2, 2, 0, 2, 0, 1, tokens, 3);
    struct ggs_journal_loss loss = {.reason = GGS_LOSS_SPACE, .count = 2, .run = 2};
    fixture_record(f, GGS_JOURNAL_LOSS, &loss, sizeof(loss), NULL);
    fixture_numbers(f, GGS_JOURNAL_BUFFER_FREE, 1, 0, 0, 0, NULL);
    fixture_numbers(f, GGS_JOURNAL_END, 0, 0, 0, 0, NULL);
}

static void save_spool(const struct spool_fixture * f, const char * folder) {
    static uint8_t seed[1 << 17];
    size_t         lanes[2] = {f->lanes[0].used - 64, f->lanes[1].used - 64}, at = 14;
    memset(seed + 6, 0xff, 8);
    for (unsigned i = 0; i < 2; i++) {
        seed[2 * i]     = (uint8_t) lanes[i];
        seed[2 * i + 1] = (uint8_t) (lanes[i] >> 8);
        memcpy(seed + at, f->lanes[i].data + 64, lanes[i]);
        at += lanes[i];
    }
    memcpy(seed + at, f->journal.data + 64, f->journal.used - 64);
    save(folder, "everything", seed, at + f->journal.used - 64);
}

// The file as it is, and the contents of its chunks.
static void save_trace(const char * path, const char * folder) {
    struct ggs_mapping trace;
    struct ggs_error   error;
    static uint8_t     seed[1 << 17];
    if (ggs_mapping_open(&trace, path, &error) != 0) exit(1);
    memcpy(seed + 1, trace.data, trace.size);
    save(folder, "file", seed, 1 + trace.size);
    save(folder, "cut", seed, 1 + trace.size / 2);
    size_t end = 1;
    seed[0]    = 1;
    for (uint64_t at = sizeof(struct ggs_trace_header); at + sizeof(struct ggs_chunk_header) < trace.size;) {
        struct ggs_chunk_header header;
        memcpy(&header, trace.data + at, sizeof(header));
        if (memcmp(header.id, GGS_CHUNK_ROWS_ID, 4) != 0) break;
        seed[end]     = (uint8_t) header.table;
        seed[end + 1] = 0;
        seed[end + 2] = (uint8_t) header.raw;
        seed[end + 3] = (uint8_t) (header.raw >> 8);
        ZSTD_decompress(seed + end + 4, header.raw, trace.data + at + sizeof(header), header.stored);
        char name[64];
        snprintf(name, sizeof(name), "chunk-%02u", header.table);
        static uint8_t one[1 << 16];
        one[0] = 1;
        memcpy(one + 1, seed + end, 4 + header.raw);
        save(folder, name, one, 5 + header.raw);
        end += 4 + header.raw;
        at += sizeof(header) + (header.stored + 7) / 8 * 8;
    }
    save(folder, "chunks", seed, end);
    ggs_mapping_close(&trace);
}

int main(int argc, char ** argv) {
    struct spool_fixture f;
    char *               folder = scratch_make();
    char *               spool  = scratch_path(folder, "spool");
    char *               trace  = scratch_path(folder, "trace.ggs");
    char                 below[4096];
    struct ggs_error     error;
    if (argc != 2) return 2;
    fixture_open(&f, spool);
    tell_everything(&f);
    snprintf(below, sizeof(below), "%s/spool", argv[1]);
    save_spool(&f, below);
    fixture_close(&f);
    if (ggs_seal(folder, NULL, NULL, &error) != 0) return 1;
    snprintf(below, sizeof(below), "%s/trace", argv[1]);
    save_trace(trace, below);
    free(spool);
    free(trace);
    scratch_remove(folder);
    return 0;
}
