// What the process's C library has for us: functions that the new thread calls, and a few instructions that exist in it
// already, so that no code is changed before there is memory of our own.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_tracee;

struct ggs_c_library {
    uint64_t dlopen, dlsym, dlerror, pthread_create, pthread_self, pthread_detach, munmap;
    // instructions
    uint64_t call;       // syscall; ret
    uint64_t restore;    // mov $rt_sigreturn, %rax; syscall: where signal handlers return to
    uint64_t pop_first;  // pop %rdi; ret
    uint64_t pop_second; // pop %rsi; ret
    uint64_t exit;       // mov $exit, %eax; syscall: ends a thread
    // initial values of thread-local variables that lie at a fixed distance below a thread's block
    struct ggs_variables {
        uint64_t from, size, distance;
    } variables[32];
    size_t   n_variables;
    uint64_t unused; // GGS_UNUSED_BYTES that belong to nobody: behind the last variable of a library
};

enum { GGS_UNUSED_BYTES = 64 };

// GGS_UNSUPPORTED with a sentence if the process has no C library that this works with: it is static, or musl's.
int ggs_c_library_find(struct ggs_c_library * library, struct ggs_tracee * tracee, struct ggs_error * error);
