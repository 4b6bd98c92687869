// Hooks of libc functions for both preload libraries. Use it in one source file, which must first
// undefine _FORTIFY_SOURCE (its inline functions have the same names):
//
//     #define HOOKS(X) X(read) X(mmap)
//     GGS_LIBC(HOOKS)
//
//     EXPORT ssize_t read(int fd, void * to, size_t size) {
//         NEXT(read) // declares `real`, the function behind the hook; NULL while the linker itself
//                    // allocates
//         return real != NULL ? real(fd, to, size) : syscall(SYS_read, fd, to, size);
//     }
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/hook.h"

static inline void * ggs_libc_find(const char * name) {
    static _Thread_local bool resolving; // dlsym may allocate, and an allocator may call a hook
    if (resolving) return NULL;
    resolving       = true;
    int    reason   = errno;
    void * function = dlsym(RTLD_NEXT, name);
    errno           = reason;
    resolving       = false;
    return function;
}

#define GGS_LIBC_DECLARE(name) static __typeof__(&name) next_##name;
#define GGS_LIBC_FIND(name)    __atomic_store_n(&next_##name, (__typeof__(&name)) ggs_libc_find(#name), __ATOMIC_RELAXED);

// Resolved before main if possible: dlsym must not be called in signal handlers or in the child of
// a fork.
#define GGS_LIBC(hooks)                                                               \
    hooks(GGS_LIBC_DECLARE) __attribute__((constructor)) static void find_all(void) { \
        hooks(GGS_LIBC_FIND)                                                          \
    }

#define NEXT(name)                                                            \
    __typeof__(&name) real = __atomic_load_n(&next_##name, __ATOMIC_RELAXED); \
    if (!LIKELY(real != NULL)) {                                              \
        GGS_LIBC_FIND(name)                                                   \
        real = __atomic_load_n(&next_##name, __ATOMIC_RELAXED);               \
    }
