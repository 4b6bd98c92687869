// Files of memory-files.c are in memory already: mapping returns a pointer, unmapping does nothing.
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
