// The code that ggscope puts into the process: it makes an ordinary thread, which loads the capture library and calls it.
//
//     bootstrap   the thread that clone made. The C library does not know it: it has a thread block of zeros, calls
//                 pthread_create and ends.
//     thread      what pthread_create made: an ordinary thread. It waits for the dynamic linker's and malloc's locks
//                 like any other, while the program runs on. It unmaps all of this when it leaves.
//
// Both go on by themselves: ggscope may be killed at any time.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum ggs_stub_state {
    GGS_STUB_BUSY,   // under way
    GGS_STUB_FAILED, // `error` says why
    GGS_STUB_DONE,   // the library was called, `result` is what it returned
};

// Lies in the process; addresses are the process's.
struct ggs_stub {
    void * (*dlopen)(const char * path, int flags);
    void * (*dlsym)(void * library, const char * name);
    const char * (*dlerror)(void);
    int (*pthread_create)(unsigned long * thread, const void * attributes, void * (*start)(void *), void * argument);
    unsigned long (*pthread_self)(void);
    int (*pthread_detach)(unsigned long thread);
    void * (*munmap)(void * start, size_t size); // returns what a thread returns: the last call is a jump
    void * (*thread)(void * stub);
    int (*entry)(const char * request); // of a library that is loaded already; NULL: it is to be loaded
    uint8_t *       region;
    uint64_t        region_size;
    uint64_t *      unused; // where the bootstrap's way out is written down; zeroed when it is gone
    uint64_t        unused_bytes;
    const uint8_t * image; // the library itself, for a process that does not see its file; NULL: load `path`
    uint64_t        image_size;
    uint32_t        bootstrap_lives; // the kernel zeroes it
    uint32_t        state;           // enum ggs_stub_state
    uint32_t        acknowledged;    // ggscope has read the outcome
    int32_t         result;
    int32_t         thread_id; // of the ordinary thread, as the process sees it
    char            path[4096], symbol[64], request[12288], error[512];
};

// The code as it lies in ggscope, and where its two functions begin in it.
const uint8_t * ggs_stub_code(size_t * size);
size_t          ggs_stub_bootstrap_offset(void);
size_t          ggs_stub_thread_offset(void);
