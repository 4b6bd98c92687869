// Sealing any spool: the input is a journal, two lanes and what the machine did, each behind a
// segment header that may lie about its size.
//
//     u16 bytes of the first lane, of the second, of the machine's; u16 size in the header of each of them and of the journal
//     (65535: the true one); those bytes; the rest is the journal
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/seal/seal.h"
#include "trace/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

static char folder[256];

static void remove_folder(void) {
    static const char * const names[] = {"journal-0000.seg", "lane-000-0000.seg", "lane-001-0000.seg",
                                         "machine-0000.seg", "trace.ggs"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[300];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void write_segment(const char * name, uint32_t lane, uint32_t thread, const uint8_t * data, size_t size,
                          const uint8_t * claimed) {
    struct ggs_spool_header header = {.version = GGS_SPOOL_VERSION, .lane = lane, .thread = thread};
    char                    path[300];
    memcpy(header.magic, GGS_SPOOL_MAGIC, sizeof(header.magic));
    uint16_t claim = (uint16_t) (claimed[0] | claimed[1] << 8);
    header.size    = claim == UINT16_MAX ? sizeof(header) + size : claim;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, &header, sizeof(header)) < 0 || write(fd, data, size) < 0) abort();
    close(fd);
}

// A disk with pieces of files everywhere.
static enum ggs_disk_place find(void * context, const char * const * paths, size_t n_paths, uint64_t device,
                                uint64_t offset, struct ggs_disk_piece * piece) {
    (void) context, (void) paths;
    *piece =
        (struct ggs_disk_piece){.file = (size_t) (device % 3), .offset = offset, .length = (1 << 20) - offset % 4096};
    return n_paths == 0 ? GGS_DISK_FOREIGN : (enum ggs_disk_place)(offset % 3);
}

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    if (folder[0] == '\0') {
        const char * base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir;
        snprintf(folder, sizeof(folder), "%s/ggscope-fuzz-XXXXXX", base);
        if (mkdtemp(folder) == NULL) abort();
        atexit(remove_folder);
    }
    static const char * const names[3] = {"lane-000-0000.seg", "lane-001-0000.seg", "machine-0000.seg"};
    static const uint32_t     lanes[3] = {0, 1, GGS_SPOOL_MACHINE};
    size_t                    at       = 14;
    if (size < at || size > 1 << 16) return 0;
    for (unsigned i = 0; i < 3; i++) {
        size_t length = (size_t) (data[2 * i] | data[2 * i + 1] << 8);
        if (length > size - at) length = size - at;
        write_segment(names[i], lanes[i], i, data + at, length, data + 6 + 2 * i);
        at += length;
    }
    write_segment("journal-0000.seg", GGS_SPOOL_JOURNAL, 0, data + at, size - at, data + 12);
    struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true, .disk = find};
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
