// Included before everything else of the module.
//
// Counts and file sizes have 64 bits, size_t has 32: an allocation that does not fit must fail, not
// be truncated.
#pragma once

#include <stdint.h>
#include <stdlib.h>

static inline void * ggs_malloc_64(uint64_t size) {
    return size > PTRDIFF_MAX ? NULL : malloc((size_t) size);
}
static inline void * ggs_calloc_64(uint64_t n, uint64_t size) {
    uint64_t all;
    if (__builtin_mul_overflow(n, size, &all) || all > PTRDIFF_MAX) return NULL;
    return calloc((size_t) n, (size_t) size);
}
static inline void * ggs_realloc_64(void * memory, uint64_t size) {
    return size > PTRDIFF_MAX ? NULL : realloc(memory, (size_t) size);
}
#define malloc(size)          ggs_malloc_64(size)
#define calloc(n, size)       ggs_calloc_64((n), (size))
#define realloc(memory, size) ggs_realloc_64((memory), (size))

// Files are those of memory-files.c and sorting is that of sort.c, renamed because libc's functions
// may be linked too.
#define open    ggs_open
#define close   ggs_close
#define stat    ggs_stat
#define fstat   ggs_fstat
#define pread   ggs_pread
#define qsort   ggs_qsort
#define qsort_r ggs_qsort_r

void qsort(void * data, size_t n, size_t size, int (*compare)(const void * a, const void * b));
void qsort_r(void * data, size_t n, size_t size, int (*compare)(const void * a, const void * b, void * context),
             void * context);
