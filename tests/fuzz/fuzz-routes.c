// A route over a trace whose contents are wrong though its checksums are right: a stored trace, in
// which the input changes bytes.
//
//     input: u8 route; any number of u8 chunk, u16 position, u8 value; the position counts in the chunk's unpacked bytes
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/system/file.h"
#include "serve/site.h"
#include "trace/format.h"

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

enum { CHUNKS_MOST = 256 };

// The stored trace, taken apart.
static struct {
    struct ggs_trace_header header;
    unsigned                n;
    struct chunk {
        struct ggs_chunk_header header;
        uint8_t *               raw;
    } chunk[CHUNKS_MOST];
} whole;

static void take_apart(void) {
    struct ggs_mapping mapping;
    if (whole.n > 0) return;
    if (ggs_mapping_open(&mapping, "tests/golden/v2/trace.ggs", NULL) < 0) {
        fprintf(stderr, "run it from the top of the tree\n");
        exit(1);
    }
    memcpy(&whole.header, mapping.data, sizeof(whole.header));
    for (uint64_t at = sizeof(whole.header);
         whole.n < CHUNKS_MOST && at + sizeof(struct ggs_chunk_header) < mapping.size;) {
        struct chunk * chunk = &whole.chunk[whole.n];
        memcpy(&chunk->header, mapping.data + at, sizeof(chunk->header));
        if (memcmp(chunk->header.id, GGS_CHUNK_ROWS_ID, 4) != 0) break;
        chunk->raw = malloc(chunk->header.raw + 1);
        ZSTD_decompress(chunk->raw, chunk->header.raw, mapping.data + at + sizeof(chunk->header), chunk->header.stored);
        at += sizeof(chunk->header) + (chunk->header.stored + 7) / 8 * 8;
        whole.n++;
    }
    ggs_mapping_close(&mapping);
}

static void write_chunk(FILE * file, const struct chunk * chunk, const uint8_t * raw) {
    struct ggs_chunk_header header = chunk->header;
    static const uint8_t    zeros[8];
    size_t                  bound  = ZSTD_compressBound(header.raw);
    uint8_t *               packed = malloc(bound);
    header.stored                  = ZSTD_compress(packed, bound, raw, header.raw, 1);
    header.checksum                = XXH3_64bits(packed, header.stored);
    header.header_checksum         = XXH3_64bits(&header, offsetof(struct ggs_chunk_header, header_checksum));
    fwrite(&header, sizeof(header), 1, file);
    fwrite(packed, 1, header.stored, file);
    fwrite(zeros, 1, (8 - header.stored % 8) % 8, file);
    free(packed);
}

static void write_changed(const char * path, const uint8_t * data, size_t size) {
    FILE * file = fopen(path, "wb");
    if (file == NULL) exit(1);
    fwrite(&whole.header, sizeof(whole.header), 1, file);
    for (unsigned i = 0; i < whole.n; i++) {
        const struct chunk * chunk = &whole.chunk[i];
        uint8_t *            raw   = malloc(chunk->header.raw + 1);
        memcpy(raw, chunk->raw, chunk->header.raw);
        for (size_t at = 0; at + 4 <= size; at += 4) {
            size_t position = (size_t) (data[at + 1] | data[at + 2] << 8);
            if (data[at] % whole.n == i && chunk->header.raw > 0) raw[position % chunk->header.raw] = data[at + 3];
        }
        write_chunk(file, chunk, raw);
        free(raw);
    }
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    static const char * const targets[] = {"/api/x/0/summary",
                                           "/api/x/0/tokens?bins=10",
                                           "/api/x/0/map",
                                           "/api/x/0/heat",
                                           "/api/x/0/heat?tokens=1..2",
                                           "/api/x/0/buffers",
                                           "/api/x/0/occupancy?bins=10",
                                           "/api/x/0/timeline?pixels=20",
                                           "/api/x/0/timeline?pixels=4096",
                                           "/api/x/0/curves?pixels=10",
                                           "/api/x/0/op?run=1&node=3",
                                           "/api/x/0/op?run=2&node=40",
                                           "/api/x/0/log",
                                           "/api/x/0/log?from=200&count=100",
                                           "/api/x/0/log?sort=name&source=DISK",
                                           "/api/x/0/log?thread=0&sort=bytes_read&desc=1&operands=1",
                                           "/api/x/0/log?region=1:0..100000",
                                           "/api/x/0/stats",
                                           "/api/x/0/experts",
                                           "/api/x/0/graph?token=0",
                                           "/api/x/0/graph?token=1",
                                           "/api/compare?a=0&b=1",
                                           "/api/several?of=0,1,0",
                                           "/api/domains?of=0,1",
                                           "/api/figure?of=0,1&kind=timeline&format=svg"};
    char                      path[64];
    const char *              directories[2] = {path, "tests/golden/v2"};
    struct ggs_experiments *  experiments;
    if (size < 1) return 0;
    take_apart();
    snprintf(path, sizeof(path), "/dev/shm/ggscope-fuzz-%d.ggs", (int) getpid());
    write_changed(path, data + 1, size - 1);
    if (ggs_experiments_new(&experiments, directories, 2, NULL, NULL) < 0) return 0;
    unlink(path);
    struct ggs_reply *      reply    = ggs_reply_new();
    struct ggs_job_progress progress = {0};
    ggs_site_answer_target(experiments, targets[data[0] % (sizeof(targets) / sizeof(targets[0]))], &progress, reply);
    ggs_reply_drop(reply);
    ggs_experiments_free(experiments);
    return 0;
}
