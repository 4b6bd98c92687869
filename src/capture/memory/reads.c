#undef _FORTIFY_SOURCE // its inline functions have these names

#include "capture/memory/reads.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/system/maps.h"
#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/journal.h"
#include "capture/memory/fills.h"
#include "capture/memory/opened-files.h"
#include "capture/sandbox.h"
#include "capture/thread.h"
#include "preload/libc.h"
#include "trace/spool.h"

enum { TOGETHER = 4 << 20 }; // bytes: longer sequences of calls become several records

int ggs_reads_loading; // loads in progress

// ---- loads ----

static int                    expected; // 1 if one is a load whose end no hook observes
static int                    filling;  // 1 if weights may also be read by hand
static int                    by_llama; // 1 if llama.cpp loads models
static _Thread_local uint64_t load;     // the load of this thread

// Adjacent calls become one record: a GGUF header is read in tens of thousands of pieces.
static struct {
    pthread_mutex_t         lock;
    struct ggs_journal_read read; // end - begin is time in calls; no record if bytes is 0
    int                     file;
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void emit_pending(void) {
    const struct ggs_model_file * file = ggs_file_get(pending.file);
    if (pending.read.bytes > 0 && file != NULL && ggs_capture_recording()) {
        struct ggs_piece pieces[] = {{&pending.read, sizeof(pending.read)}, {file->path, strlen(file->path) + 1}};
        ggs_journal_append(GGS_JOURNAL_READ, pieces, 2);
    }
    pending.read.bytes = 0;
}

static void flush(void) {
    if (!ggs_capture_recording()) return;
    pthread_mutex_lock(&pending.lock);
    emit_pending();
    pthread_mutex_unlock(&pending.lock);
}

static void add_read(uint32_t kind, int file, uint64_t offset, uint64_t bytes, uint64_t begin, uint64_t end) {
    if (bytes == 0 || !ggs_capture_recording()) return;
    pthread_mutex_lock(&pending.lock);
    struct ggs_journal_read * read   = &pending.read;
    uint32_t                  thread = ggs_thread_id();
    if (read->bytes > 0 && read->bytes < TOGETHER && pending.file == file && read->kind == kind &&
        read->os_thread == thread && read->load == load && read->offset + read->bytes == offset) {
        read->bytes += bytes;
        read->end += end - begin;
    } else {
        emit_pending();
        pending.file = file;
        *read        = (struct ggs_journal_read){.kind      = kind,
                                                 .os_thread = thread,
                                                 .load      = load,
                                                 .offset    = offset,
                                                 .bytes     = bytes,
                                                 .begin     = begin,
                                                 .end       = end};
    }
    pthread_mutex_unlock(&pending.lock);
}

void ggs_reads_begin(uint64_t number) {
    __atomic_store_n(&by_llama, 1, __ATOMIC_RELAXED);
    load = number;
    __atomic_add_fetch(&ggs_reads_loading, 1, __ATOMIC_RELAXED);
}

static void one_less(void) {
    if (__atomic_load_n(&ggs_reads_loading, __ATOMIC_RELAXED) > 0) // not in forked children
        __atomic_sub_fetch(&ggs_reads_loading, 1, __ATOMIC_RELAXED);
}

void ggs_reads_end(void) {
    flush();
    load = 0;
    one_less();
}

void ggs_reads_expect(void) {
    if (load == 0 && __atomic_exchange_n(&expected, 1, __ATOMIC_RELAXED) == 0)
        __atomic_add_fetch(&ggs_reads_loading, 1, __ATOMIC_RELAXED);
}

void ggs_reads_expect_fills(void) {
    if (__atomic_load_n(&by_llama, __ATOMIC_RELAXED) == 0 && __atomic_exchange_n(&filling, 1, __ATOMIC_RELAXED) == 0)
        __atomic_add_fetch(&ggs_reads_loading, 1, __ATOMIC_RELAXED);
}

bool ggs_reads_filling(void) {
    return __atomic_load_n(&filling, __ATOMIC_RELAXED) != 0;
}

int ggs_reads_settle(void) {
    if (__atomic_exchange_n(&filling, 0, __ATOMIC_RELAXED) != 0) one_less();
    if (__atomic_exchange_n(&expected, 0, __ATOMIC_RELAXED) == 0) return 0;
    flush();
    one_less();
    return 1;
}

void ggs_reads_forget(void) {
    __atomic_store_n(&ggs_reads_loading, 0, __ATOMIC_RELAXED);
}

static inline bool loading(void) {
    return __builtin_expect(__atomic_load_n(&ggs_reads_loading, __ATOMIC_RELAXED) != 0, 0);
}

// What this library reads is not the program's.
extern const char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

static bool is_own(const void * caller) {
    return (uintptr_t) caller - (uintptr_t) __ehdr_start < (uintptr_t) _end - (uintptr_t) __ehdr_start;
}

// ---- the real functions ----

#define HOOKS(X) X(fread) X(read) X(pread) X(pread64) X(mmap) X(mmap64) X(madvise) X(posix_madvise) X(mlock)
GGS_LIBC(HOOKS)

// ---- read ----

// A stream reads a block at a time: most calls copy from its buffer without a system call. Only
// reads from the kernel are recorded, for the call that caused them.
static _Thread_local struct {
    const FILE * stream; // of the newest such call, NULL for none
    int          file;
    int64_t      begin, end; // what the kernel read
} last;

static size_t buffered(const FILE * stream) {
#if defined(__GLIBC__)
    return (size_t) (stream->_IO_read_end - stream->_IO_read_ptr);
#else
    (void) stream;
    return 0;
#endif
}

// True if the next `bytes` come out of the buffer, and nothing, such as a seek, has refilled it.
static bool is_mere_copy(const FILE * stream, size_t size, size_t count) {
#if defined(__GLIBC__)
    size_t bytes;
    return last.stream == stream && stream->_offset == last.end && !__builtin_mul_overflow(size, count, &bytes) &&
           bytes <= buffered(stream);
#else
    (void) stream, (void) size, (void) count;
    return false;
#endif
}

static size_t timed_fread(size_t (*real)(void *, size_t, size_t, FILE *), void * to, size_t size, size_t count,
                          FILE * stream) {
    int     reason   = errno;
    int64_t at       = ftello(stream);
    int     file     = at < 0 ? -1 : ggs_files_find_open(fileno(stream));
    errno            = reason;
    uint64_t begin   = ggs_ticks_now();
    size_t   n       = real(to, size, count, stream);
    uint64_t end     = ggs_ticks_now();
    bool     goes_on = last.stream == stream && last.file == file && at >= last.begin && at <= last.end;
    last.stream      = stream;
    last.file        = file;
    last.begin       = goes_on ? last.end : at;
    last.end         = at + (int64_t) (n * size + buffered(stream));
    if (file < 0 || last.end <= last.begin) return n;
    reason = errno;
    add_read(GGS_READ_FILE, file, (uint64_t) last.begin, (uint64_t) (last.end - last.begin), begin, end);
    errno = reason;
    return n;
}

EXPORT size_t fread(void * to, size_t size, size_t count, FILE * stream) {
    NEXT(fread)
    if (LIKELY(!loading())) return real(to, size, count, stream);
    int     reason = errno;
    int64_t at     = ggs_reads_filling() ? ftello(stream) : -1;
    errno          = reason;
    bool   copied  = is_mere_copy(stream, size, count);
    size_t n       = copied ? real(to, size, count, stream) : timed_fread(real, to, size, count, stream);
    reason         = errno;
    if (at >= 0) ggs_fills_read(to, n * size, fileno(stream), at);
    errno = reason;
    return n;
}

EXPORT ssize_t read(int fd, void * to, size_t size) {
    NEXT(read)
    if (!LIKELY(real != NULL)) return syscall(SYS_read, fd, to, size);
    if (LIKELY(!loading()) || is_own(CALLER)) return real(fd, to, size);
    int   reason = errno;
    int   file   = ggs_files_find_open(fd);
    bool  fills  = ggs_reads_filling();
    off_t at     = file < 0 && !fills ? -1 : lseek(fd, 0, SEEK_CUR);
    errno        = reason;
    if (at < 0) return real(fd, to, size);
    uint64_t begin = ggs_ticks_now();
    ssize_t  n     = real(fd, to, size);
    reason         = errno;
    if (n > 0 && file >= 0) add_read(GGS_READ_FILE, file, (uint64_t) at, (uint64_t) n, begin, ggs_ticks_now());
    if (n > 0 && fills) ggs_fills_read(to, (size_t) n, fd, at);
    errno = reason;
    return n;
}

static ssize_t timed_pread(ssize_t (*real)(int, void *, size_t, off_t), int fd, void * to, size_t size, off_t at) {
    int reason = errno;
    int file   = ggs_files_find_open(fd);
    errno      = reason;
    bool fills = ggs_reads_filling();
    if (file < 0 && !fills) return real(fd, to, size, at);
    uint64_t begin = ggs_ticks_now();
    ssize_t  n     = real(fd, to, size, at);
    reason         = errno;
    if (n > 0 && fills) ggs_fills_read(to, (size_t) n, fd, at);
    if (n > 0 && file >= 0) add_read(GGS_READ_FILE, file, (uint64_t) at, (uint64_t) n, begin, ggs_ticks_now());
    errno = reason;
    return n;
}

EXPORT ssize_t pread(int fd, void * to, size_t size, off_t at) {
    NEXT(pread)
    if (!LIKELY(real != NULL)) return syscall(SYS_pread64, fd, to, size, at);
    return LIKELY(!loading()) || is_own(CALLER) ? real(fd, to, size, at) : timed_pread(real, fd, to, size, at);
}

EXPORT ssize_t pread64(int fd, void * to, size_t size, off64_t at) {
    NEXT(pread64)
    if (!LIKELY(real != NULL)) return syscall(SYS_pread64, fd, to, size, at);
    return LIKELY(!loading()) || is_own(CALLER) ? real(fd, to, size, at) : timed_pread(real, fd, to, size, at);
}

// ---- mmap ----

_Static_assert(sizeof(off_t) == 8, "off_t and off64_t are the same");

static void * raw_mmap(void * address, size_t length, int protection, int flags, int fd, off_t offset) {
    return (void *) syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

static void * timed_mmap(void * (*real)(void *, size_t, int, int, int, off_t), void * address, size_t length,
                         int protection, int flags, int fd, off_t offset) {
    int reason = errno;
    int file   = ggs_files_find_open(fd);
    errno      = reason;
    if (file < 0) return real(address, length, protection, flags, fd, offset);
    uint64_t begin = ggs_ticks_now();
    void *   data  = real(address, length, protection, flags, fd, offset);
    uint64_t end   = ggs_ticks_now();
    uint64_t size = ggs_file_get(file)->size, from = (uint64_t) offset;
    uint64_t behind = from < size ? size - from : 0;
    reason          = errno;
    if (data != MAP_FAILED) add_read(GGS_READ_POPULATE, file, from, length < behind ? length : behind, begin, end);
    errno = reason;
    return data;
}

EXPORT void * mmap(void * address, size_t length, int protection, int flags, int fd, off_t offset) {
    NEXT(mmap)
    if (!LIKELY(real != NULL)) return raw_mmap(address, length, protection, flags, fd, offset);
    if (LIKELY(!loading()) || (flags & MAP_POPULATE) == 0 || fd < 0)
        return real(address, length, protection, flags, fd, offset);
    return timed_mmap(real, address, length, protection, flags, fd, offset);
}

EXPORT void * mmap64(void * address, size_t length, int protection, int flags, int fd, off64_t offset) {
    NEXT(mmap64)
    if (!LIKELY(real != NULL)) return raw_mmap(address, length, protection, flags, fd, offset);
    if (LIKELY(!loading()) || (flags & MAP_POPULATE) == 0 || fd < 0)
        return real(address, length, protection, flags, fd, offset);
    return timed_mmap(real, address, length, protection, flags, fd, offset);
}

// ---- advice and locks ----

// Records the parts of [address, address + length) that are mappings of model files.
static void add_range(uint32_t kind, const void * address, size_t length, uint64_t begin, uint64_t end) {
    if (ggs_sandboxed()) return;
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    uint64_t              low = (uint64_t) address, high = low + length;
    if (!ggs_maps_open(&maps, "self")) return;
    while (ggs_maps_next(&maps, &entry)) {
        if (entry.inode == 0 || entry.end <= low || entry.start >= high) continue;
        int file = ggs_files_find_inode(entry.device, entry.inode);
        if (file < 0) continue;
        uint64_t first = low > entry.start ? low : entry.start, behind = high < entry.end ? high : entry.end;
        uint64_t at = entry.offset + (first - entry.start), size = ggs_file_get(file)->size;
        uint64_t bytes = behind - first;
        if (at >= size) continue;
        add_read(kind, file, at, bytes < size - at ? bytes : size - at, begin, end);
        begin = end; // the time of the call counts once
    }
    ggs_maps_close(&maps);
}

static bool makes_kernel_read(int advice) {
    return advice == MADV_WILLNEED || advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE;
}

EXPORT int madvise(void * address, size_t length, int advice) {
    NEXT(madvise)
    if (!LIKELY(real != NULL)) return (int) syscall(SYS_madvise, address, length, advice);
    if (LIKELY(!loading()) || !makes_kernel_read(advice)) return real(address, length, advice);
    uint64_t begin  = ggs_ticks_now();
    int      result = real(address, length, advice), reason = errno;
    if (result == 0) add_range(GGS_READ_ADVICE, address, length, begin, ggs_ticks_now());
    errno = reason;
    return result;
}

EXPORT int posix_madvise(void * address, size_t length, int advice) {
    NEXT(posix_madvise)
    if (!LIKELY(real != NULL)) return ENOSYS;
    if (LIKELY(!loading()) || advice != POSIX_MADV_WILLNEED) return real(address, length, advice);
    uint64_t begin  = ggs_ticks_now();
    int      result = real(address, length, advice), reason = errno;
    if (result == 0) add_range(GGS_READ_ADVICE, address, length, begin, ggs_ticks_now());
    errno = reason;
    return result;
}

EXPORT int mlock(const void * address, size_t length) {
    NEXT(mlock)
    if (!LIKELY(real != NULL)) return (int) syscall(SYS_mlock, address, length);
    if (LIKELY(!loading())) return real(address, length);
    uint64_t begin  = ggs_ticks_now();
    int      result = real(address, length), reason = errno;
    if (result == 0) add_range(GGS_READ_LOCK, address, length, begin, ggs_ticks_now());
    errno = reason;
    return result;
}
