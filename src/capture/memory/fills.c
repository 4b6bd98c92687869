#include "capture/memory/fills.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/journal.h"
#include "capture/memory/buffers.h"
#include "capture/memory/opened-files.h"
#include "capture/sandbox.h"
#include "trace/spool.h"

enum { LAST_READS = 4 };

// Recent reads into memory outside of buffers: a copy into a buffer may follow.
static _Thread_local struct read {
    uint64_t to, bytes, offset;
    int      file; // number in opened-files.h, from 0
} last[LAST_READS];
static _Thread_local unsigned n_last;

// Registers the file of a descriptor as a model file and returns its number; -1 if it is not a
// regular file.
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

// Bounds of all fills, to skip tensors outside of them.
static uint64_t lowest = UINT64_MAX, highest;

static void widen(uint64_t from, uint64_t to) {
    uint64_t low = __atomic_load_n(&lowest, __ATOMIC_RELAXED), high = __atomic_load_n(&highest, __ATOMIC_RELAXED);
    while (from < low && !__atomic_compare_exchange_n(&lowest, &low, from, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    while (to > high && !__atomic_compare_exchange_n(&highest, &high, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

// Writes a sample of a tensor at `address`, whose bytes are at `data`.
static void emit_sample(uint64_t address, const void * data, uint64_t bytes) {
    uint8_t                   taken[GGS_SAMPLE_PIECES * GGS_SAMPLE_PIECE];
    uint64_t                  n = ggs_sample_pieces(bytes), size = ggs_sample_piece(bytes);
    struct ggs_journal_sample sample = {address, bytes};
    for (uint64_t i = 0; i < n; i++)
        memcpy(taken + i * size, (const uint8_t *) data + ggs_sample_offset(bytes, i), size);
    struct ggs_piece pieces[] = {{&sample, sizeof(sample)}, {taken, n * size}};
    ggs_journal_append(GGS_JOURNAL_SAMPLE, pieces, 2);
}

static void emit_filled(uint64_t to, uint64_t bytes, uint64_t offset, uint64_t before, int number) {
    const struct ggs_model_file * file = ggs_file_get(number);
    if (file == NULL || !ggs_capture_recording()) return;
    struct ggs_journal_filled filled   = {.address = to, .bytes = bytes, .offset = offset, .before = before};
    struct ggs_piece          pieces[] = {{&filled, sizeof(filled)}, {file->path, strlen(file->path) + 1}};
    ggs_journal_append(GGS_JOURNAL_FILLED, pieces, 2);
    widen(to - before, to + bytes);
}

// A FILE stream serves the first bytes of a large read from its buffer.
static uint64_t read_before(const struct read * read) {
    const struct read * previous = &last[(n_last + LAST_READS - 1) % LAST_READS];
    return previous->file == read->file && previous->offset + previous->bytes == read->offset ? previous->bytes : 0;
}

void ggs_fills_read(const void * to, size_t bytes, int fd, int64_t offset) {
    int file = bytes == 0 || offset < 0 ? -1 : file_behind(fd);
    if (file < 0) return;
    struct read read = {(uint64_t) to, bytes, (uint64_t) offset, file};
    if (ggs_buffer_holds(read.to))
        emit_filled(read.to, bytes, read.offset, read_before(&read), file);
    else
        last[n_last++ % LAST_READS] = read;
}

void ggs_fills_set(uint64_t to, const void * data, size_t bytes) {
    uint64_t from = (uint64_t) data;
    for (unsigned i = 0; i < LAST_READS; i++) {
        const struct read * read = &last[(n_last + LAST_READS - 1 - i) % LAST_READS];
        if (from < read->to || from - read->to >= read->bytes) continue;
        uint64_t skipped = from - read->to, rest = read->bytes - skipped;
        if (bytes > rest) bytes = rest;
        emit_filled(to, bytes, read->offset + skipped, 0, read->file);
        emit_sample(to, data, bytes); // the memory may be overwritten later
        return;
    }
}

void ggs_fills_used(const void * data, uint64_t bytes) {
    uint64_t address = (uint64_t) data;
    if (address < __atomic_load_n(&highest, __ATOMIC_RELAXED) &&
        address + bytes > __atomic_load_n(&lowest, __ATOMIC_RELAXED) && ggs_capture_recording())
        emit_sample(address, data, bytes);
}
