// Functions of the process's C library that the new thread calls, and existing instructions in it,
// so that no code changes before there is memory for it.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_tracee;

struct ggs_c_library {
    uint64_t dlopen, dlsym, dlerror, pthread_create, pthread_self, pthread_detach, munmap;
    // instructions
    uint64_t call;       // syscall; ret
    uint64_t restore;    // mov $rt_sigreturn, %rax; syscall: the return of signal handlers
    uint64_t pop_first;  // pop %rdi; ret
    uint64_t pop_second; // pop %rsi; ret
    uint64_t exit;       // mov $exit, %eax; syscall: ends a thread
    // initial values of thread-local variables; distance: below a thread's block, or 0 if the
    // thread's table of modules has their place
    struct ggs_variables {
        uint64_t from, size, distance, module;
    } variables[32];
    size_t   n_variables;
    uint64_t unused; // GGS_UNUSED_BYTES unused bytes behind the last variable of a library
};

enum {
    GGS_UNUSED_BYTES = 64,
    GGS_UNUSED_SIZE  = 3, // index of the word with the size of the region to unmap
};

// GGS_UNSUPPORTED with a sentence if the process has no supported C library: it is static, or uses
// musl.
int ggs_c_library_find(struct ggs_c_library * library, struct ggs_tracee * tracee, struct ggs_error * error);
