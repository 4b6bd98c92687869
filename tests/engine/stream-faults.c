// Preloaded in front of the stream library: large reads fail, come late or come short, as on a bad
// disk.
//     STREAM_FAULTS="KIND BEGIN END EVERY COUNT VALUE;..."
// KIND is fail, again (VALUE: the errno), late (VALUE: milliseconds) or short (VALUE: bytes). Of
// the reads that touch bytes [BEGIN, END) of their file, each EVERY-th is hit, COUNT of them at
// most (0: all).
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { MOST = 8, LARGE = 4096 };

struct rule {
    char               kind[8];
    unsigned long long begin, end, value;
    unsigned           every, count;
    unsigned           met, hit;
};

static struct rule rules[MOST];
static unsigned    n_rules;

__attribute__((constructor)) static void parse(void) {
    const char * at = getenv("STREAM_FAULTS");
    for (int used = 0; at != NULL && n_rules < MOST; at += used) {
        struct rule * r = &rules[n_rules];
        if (sscanf(at, "%7s %llu %llu %u %u %llu%n", r->kind, &r->begin, &r->end, &r->every, &r->count, &r->value,
                   &used) != 6)
            return;
        n_rules++;
        if (at[used] == ';') used++;
    }
}

static bool hits(struct rule * r, uint64_t at, size_t bytes) {
    if (at >= r->end || at + bytes <= r->begin) return false;
    if (__atomic_add_fetch(&r->met, 1, __ATOMIC_RELAXED) % r->every != 0) return false;
    return __atomic_add_fetch(&r->hit, 1, __ATOMIC_RELAXED) <= r->count || r->count == 0;
}

// Bytes that the read may return, or -1 with errno.
static ssize_t allow(uint64_t at, size_t bytes) {
    size_t most = bytes;
    for (unsigned i = 0; bytes >= LARGE && i < n_rules; i++) {
        struct rule * r = &rules[i];
        if (!hits(r, at, bytes)) continue;
        if (strcmp(r->kind, "late") == 0) {
            struct timespec pause = {(time_t) (r->value / 1000), (long) (r->value % 1000) * 1000000};
            nanosleep(&pause, NULL);
        } else if (strcmp(r->kind, "short") == 0) {
            if (r->value < most) most = r->value;
        } else {
            errno = (int) r->value;
            return -1;
        }
    }
    return (ssize_t) most;
}

EXPORT ssize_t pread(int fd, void * to, size_t size, off_t at) {
    ssize_t most = allow((uint64_t) at, size);
    return most < 0 ? -1 : syscall(SYS_pread64, fd, to, (size_t) most, at);
}

EXPORT ssize_t pread64(int fd, void * to, size_t size, off64_t at) {
    return pread(fd, to, size, at);
}

EXPORT ssize_t preadv(int fd, const struct iovec * parts, int n, off_t at) {
    struct iovec cut[64];
    size_t       bytes = 0;
    int          some  = 0;
    for (int i = 0; i < n; i++) bytes += parts[i].iov_len;
    ssize_t most = allow((uint64_t) at, bytes);
    if (most < 0) return -1;
    for (size_t left = (size_t) most; some < n && some < 64 && left > 0; some++) {
        cut[some] = parts[some];
        if (cut[some].iov_len > left) cut[some].iov_len = left;
        left -= cut[some].iov_len;
    }
    return syscall(SYS_preadv, fd, cut, some, at, 0);
}

EXPORT ssize_t preadv64(int fd, const struct iovec * parts, int n, off64_t at) {
    return preadv(fd, parts, n, at);
}
