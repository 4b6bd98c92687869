// Sealing any spool: the input is a story and two lanes, each behind a right segment header.
//
//     u16 bytes of the first lane, u16 bytes of the second, those bytes, and the rest is the story
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/seal.h"
#include "trace/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

static char folder[256];

static void remove_folder(void) {
    static const char * const names[] = {"story-0000.seg", "lane-000-0000.seg", "lane-001-0000.seg", "trace.ggs"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[300];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void write_segment(const char * name, uint32_t lane, uint32_t thread, const uint8_t * data, size_t size) {
    struct ggs_spool_header header = {.version = GGS_SPOOL_VERSION, .lane = lane, .thread = thread};
    char                    path[300];
    memcpy(header.magic, GGS_SPOOL_MAGIC, sizeof(header.magic));
    header.size = sizeof(header) + size;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, &header, sizeof(header)) < 0 || write(fd, data, size) < 0) abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    if (folder[0] == '\0') {
        const char * base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir;
        snprintf(folder, sizeof(folder), "%s/ggscope-fuzz-XXXXXX", base);
        if (mkdtemp(folder) == NULL) abort();
        atexit(remove_folder);
    }
    if (size < 4 || size > 1 << 16) return 0;
    size_t lengths[2] = {(size_t) (data[0] | data[1] << 8), (size_t) (data[2] | data[3] << 8)}, at = 4;
    for (unsigned i = 0; i < 2; i++) {
        if (lengths[i] > size - at) lengths[i] = size - at;
        write_segment(i == 0 ? "lane-000-0000.seg" : "lane-001-0000.seg", i, i, data + at, lengths[i]);
        at += lengths[i];
    }
    write_segment("story-0000.seg", GGS_SPOOL_STORY, 0, data + at, size - at);
    struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true};
    struct ggs_error        error;
    struct ggs_reader *     reader;
    char                    trace[300];
    snprintf(trace, sizeof(trace), "%s/trace.ggs", folder);
    if (ggs_seal_spool(folder, trace, NULL, &options, NULL, &error) != 0) abort();
    if (ggs_reader_open(&reader, trace, &error) != 0 || ggs_reader_warning(reader) != NULL) abort();
    if (ggs_reader_verify(reader, NULL, NULL, &error) != 0) abort();
    ggs_reader_close(reader);
    return 0;
}
