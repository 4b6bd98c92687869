// Files are in memory (files.h): there are no pages to let go of.
#pragma once

#include <stddef.h>

enum { MADV_DONTNEED };

static inline int madvise(void * address, size_t length, int advice) {
    (void) address, (void) length, (void) advice;
    return 0;
}
