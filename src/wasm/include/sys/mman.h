// A file of files.c is in memory already: mapping it is to point at it, and there are no pages to
// let go of.
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define MAP_FAILED ((void *) -1)
enum { PROT_READ, MAP_PRIVATE, MADV_DONTNEED };

void * mmap(void * address, size_t length, int protection, int flags, int fd, off_t offset);

static inline int munmap(void * address, size_t length) {
    (void) address, (void) length;
    return 0;
}
static inline int madvise(void * address, size_t length, int advice) {
    (void) address, (void) length, (void) advice;
    return 0;
}
