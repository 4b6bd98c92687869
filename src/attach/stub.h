// The code that ggscope puts into the process: it starts an ordinary thread, which loads the
// capture library and calls it.
//
//     bootstrap   the thread made by clone. The C library does not know it: it has a thread block
//                 of zeros, calls pthread_create and ends.
//     thread      made by pthread_create: an ordinary thread. It waits for locks of the dynamic
//                 linker and malloc like any other, while the program runs. At its end it unmaps
//                 all of this but the bootstrap's thread-local variables: pthread_create calls
//                 malloc, and jemalloc keeps a list of such variables. The next bootstrap of the
//                 process uses them again.
//
// Both need no further help: ggscope may be killed at any time.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum ggs_stub_state {
    GGS_STUB_BUSY,   // in progress
    GGS_STUB_FAILED, // `error` says why
    GGS_STUB_DONE,   // the library was called; `result` has its return value
};

// Lies in the process and has addresses of the process.
struct ggs_stub {
    void * (*dlopen)(const char * path, int flags);
    void * (*dlsym)(void * library, const char * name);
    const char * (*dlerror)(void);
    int (*pthread_create)(unsigned long * thread, const void * attributes, void * (*start)(void *), void * argument);
    unsigned long (*pthread_self)(void);
    int (*pthread_detach)(unsigned long thread);
    void * (*munmap)(void * start, size_t size); // typed like a thread function, for a tail call
    void * (*thread)(void * stub);
    int (*entry)(const char * request); // of a loaded library; NULL: load it first
    uint8_t *       region;
    uint64_t        region_size, kept_size; // kept: at its end, the variables and the thread block
    uint64_t        block;                  // the bootstrap's thread block
    uint64_t *      block_at;               // where the library stores it; NULL: find `block_symbol` first
    uint64_t *      unused;                 // place of the bootstrap's exit path; zeroed when it has ended
    uint64_t        unused_bytes;
    const uint8_t * image; // the library if its file cannot be opened there; NULL: load `path`
    uint64_t        image_size;
    uint32_t        bootstrap_lives; // zeroed by the kernel
    uint32_t        state;           // enum ggs_stub_state
    uint32_t        acknowledged;    // ggscope has read the result
    int32_t         result;
    int32_t         thread_id; // of the ordinary thread, inside the process's PID namespace
    char            path[4096], symbol[64], block_symbol[64], request[12288], error[512];
};

// Returns the code, with the offsets of its two functions.
const uint8_t * ggs_stub_code(size_t * size);
size_t          ggs_stub_bootstrap_offset(void);
size_t          ggs_stub_thread_offset(void);
