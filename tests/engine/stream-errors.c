// Preloaded in front of the stream library: every third read of a large piece fails, as on a bad disk.
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

__attribute__((visibility("default"))) ssize_t pread(int fd, void * to, size_t size, off_t at) {
    static unsigned calls;
    if (size >= 4096 && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 3 == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, to, size, at);
}

__attribute__((visibility("default"))) ssize_t pread64(int fd, void * to, size_t size, off64_t at) {
    return pread(fd, to, size, at);
}
