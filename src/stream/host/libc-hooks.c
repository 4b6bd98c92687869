// Hooks of libc functions with which a program maps its model, changes the mapping, and requests
// readahead. What would fill memory with weights is suppressed if the model does not fit. A range
// is followed only as long as it equals the file.
#undef _FORTIFY_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "preload/libc.h"
#include "stream/host/library.h"

enum { SMALL_MAPPING = 64 << 10 };

#define HOOKS(X) \
    X(mmap)      \
    X(mmap64)    \
    X(munmap) X(mremap) X(mprotect) X(madvise) X(posix_madvise) X(posix_fadvise) X(posix_fadvise64) X(mlock)
GGS_LIBC(HOOKS)

// Waits until no graph uses weights of this range, which is about to change.
static void leave_range(const void * address, size_t length) {
    struct ggs_stream * stream = ggs_stream_of_library();
    if (LIKELY(stream == NULL || !ggs_stream_touches(stream, address, length))) return;
    int reason = errno;
    ggs_stream_unmap(stream, address, length);
    errno = reason;
}

static void * map(void * (*real)(void *, size_t, int, int, int, off_t), void * address, size_t length, int protection,
                  int flags, int fd, off_t offset) {
    if ((flags & MAP_FIXED) != 0) leave_range(address, length);
    if (LIKELY(fd < 0 || length < SMALL_MAPPING || (protection & (PROT_WRITE | PROT_EXEC)) != 0))
        return real(address, length, protection, flags, fd, offset);
    struct ggs_stream * stream = ggs_stream_of_library();
    if (stream == NULL || !ggs_stream_is_model(fd)) return real(address, length, protection, flags, fd, offset);
    int  reason = errno;
    bool fits   = ggs_stream_fits_early(stream, 0);
    errno       = reason;
    __atomic_store_n(&ggs_stream_library_now()->fits, fits, __ATOMIC_RELAXED);
    if (!fits && (flags & MAP_POPULATE) != 0) {
        flags &= ~MAP_POPULATE;
        ggs_stream_leave_out(stream);
    }
    void * data = real(address, length, protection, flags, fd, offset);
    if (data != MAP_FAILED) ggs_stream_map(stream, fd, data, length, (uint64_t) offset);
    return data;
}

EXPORT void * mmap(void * address, size_t length, int protection, int flags, int fd, off_t offset) {
    NEXT(mmap)
    if (!LIKELY(real != NULL)) return (void *) syscall(SYS_mmap, address, length, protection, flags, fd, offset);
    return map(real, address, length, protection, flags, fd, offset);
}

EXPORT void * mmap64(void * address, size_t length, int protection, int flags, int fd, off64_t offset) {
    NEXT(mmap64)
    if (!LIKELY(real != NULL)) return (void *) syscall(SYS_mmap, address, length, protection, flags, fd, offset);
    return map(real, address, length, protection, flags, fd, offset);
}

EXPORT int munmap(void * address, size_t length) {
    NEXT(munmap)
    leave_range(address, length);
    return real != NULL ? real(address, length) : (int) syscall(SYS_munmap, address, length);
}

EXPORT void * mremap(void * old, size_t length, size_t new_length, int flags, ...) {
    NEXT(mremap)
    va_list arguments;
    va_start(arguments, flags);
    void * to = va_arg(arguments, void *); // used by the kernel if MREMAP_FIXED is set
    va_end(arguments);
    leave_range(old, length);
    return real != NULL ? real(old, length, new_length, flags, to)
                        : (void *) syscall(SYS_mremap, old, length, new_length, flags, to);
}

EXPORT int mprotect(void * address, size_t length, int protection) {
    NEXT(mprotect)
    if ((protection & PROT_WRITE) != 0) leave_range(address, length);
    return real != NULL ? real(address, length, protection) : (int) syscall(SYS_mprotect, address, length, protection);
}

// Advice to read a model that does not fit is ignored until it turns out to fit. Other advice
// passes, because it reads nothing and the mapping may need it.
static struct ggs_stream * stream_that_ignores(void) {
    struct ggs_stream * stream = ggs_stream_of_library();
    return stream == NULL || ggs_stream_now(stream) == GGS_STREAM_PASSIVE ? NULL : stream;
}

static bool ignored(const void * address, size_t length) {
    struct ggs_stream * stream = stream_that_ignores();
    if (stream == NULL || !ggs_stream_touches(stream, address, length) ||
        __atomic_load_n(&ggs_stream_library_now()->fits, __ATOMIC_RELAXED))
        return false;
    ggs_stream_leave_out(stream);
    return true;
}

EXPORT int madvise(void * address, size_t length, int advice) {
    NEXT(madvise)
    if ((advice == MADV_WILLNEED || advice == MADV_POPULATE_READ) && ignored(address, length)) return 0;
    return real != NULL ? real(address, length, advice) : (int) syscall(SYS_madvise, address, length, advice);
}

EXPORT int posix_madvise(void * address, size_t length, int advice) {
    NEXT(posix_madvise)
    if (advice == POSIX_MADV_WILLNEED && ignored(address, length)) return 0;
    return real != NULL ? real(address, length, advice) : ENOSYS;
}

static bool ignored_file(int fd) {
    struct ggs_stream * stream = stream_that_ignores();
    if (stream == NULL || !ggs_stream_is_model(fd) || ggs_stream_fits_early(stream, 0)) return false;
    ggs_stream_leave_out(stream);
    return true;
}

EXPORT int posix_fadvise(int fd, off_t offset, off_t length, int advice) {
    NEXT(posix_fadvise)
    if (advice == POSIX_FADV_WILLNEED && ignored_file(fd)) return 0;
    return real != NULL ? real(fd, offset, length, advice) : ENOSYS;
}

EXPORT int posix_fadvise64(int fd, off64_t offset, off64_t length, int advice) {
    NEXT(posix_fadvise64)
    if (advice == POSIX_FADV_WILLNEED && ignored_file(fd)) return 0;
    return real != NULL ? real(fd, offset, length, advice) : ENOSYS;
}

// A model that does not fit cannot be locked: returns the kernel's error.
EXPORT int mlock(const void * address, size_t length) {
    NEXT(mlock)
    if (ignored(address, length)) {
        errno = ENOMEM;
        return -1;
    }
    return real != NULL ? real(address, length) : (int) syscall(SYS_mlock, address, length);
}
