#include "capture/memory/fills.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/hooks/sandbox.h"
#include "capture/journal.h"
#include "capture/memory/buffers.h"
#include "capture/memory/files.h"
#include "trace/spool.h"

enum { LAST_READS = 4 };

// Reads into memory that is no buffer's: a copy out of it may follow.
static _Thread_local struct read {
    uint64_t to, bytes, offset;
    int      file; // number in files.h, from 0
} last[LAST_READS];
static _Thread_local unsigned n_last;

// The number of the file behind a descriptor, which becomes a model file by being asked for here; -1 if it is no regular file.
static int file_behind(int fd) {
    int  file = ggs_files_find_open(fd);
    char link[64], path[4096];
    if (file >= 0 || ggs_sandboxed()) return file;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length <= 0 || path[0] != '/') return -1;
    path[length] = '\0';
    if (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0 || strncmp(path, "/dev/", 5) == 0) return -1;
    ggs_files_add(path);
    return ggs_files_find_open(fd);
}

static void tell(uint64_t to, uint64_t bytes, uint64_t offset, uint64_t before, int number) {
    const struct ggs_model_file * file = ggs_file_get(number);
    if (file == NULL || !ggs_capture_recording()) return;
    struct ggs_journal_filled filled   = {.address = to, .bytes = bytes, .offset = offset, .before = before};
    struct ggs_piece          pieces[] = {{&filled, sizeof(filled)}, {file->path, strlen(file->path) + 1}};
    ggs_journal_append(GGS_JOURNAL_FILLED, pieces, 2);
}

// Streams take the first bytes of a large read from what they had read ahead.
static uint64_t read_before(const struct read * read) {
    const struct read * previous = &last[(n_last + LAST_READS - 1) % LAST_READS];
    return previous->file == read->file && previous->offset + previous->bytes == read->offset ? previous->bytes : 0;
}

void ggs_fills_read(const void * to, size_t bytes, int fd, int64_t offset) {
    int file = bytes == 0 || offset < 0 ? -1 : file_behind(fd);
    if (file < 0) return;
    struct read read = {(uint64_t) to, bytes, (uint64_t) offset, file};
    if (ggs_buffer_holds(read.to))
        tell(read.to, bytes, read.offset, read_before(&read), file);
    else
        last[n_last++ % LAST_READS] = read;
}

void ggs_fills_set(uint64_t to, const void * data, size_t bytes) {
    uint64_t from = (uint64_t) data;
    for (unsigned i = 0; i < LAST_READS; i++) {
        const struct read * read = &last[(n_last + LAST_READS - 1 - i) % LAST_READS]; // the newest first
        if (from < read->to || from - read->to >= read->bytes) continue;
        uint64_t skipped = from - read->to, rest = read->bytes - skipped;
        tell(to, bytes < rest ? bytes : rest, read->offset + skipped, 0, read->file);
        return;
    }
}
