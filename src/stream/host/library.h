// The stream library in its host: the one stream that hooks call, and what it stands on.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "stream/stream.h"

struct ggs_stream_library {
    struct ggs_stream *        stream;
    struct ggs_pool *          pool;
    struct ggs_kernel_memory * machine;
    int                        awake;      // enum in library.c
    bool                       fits;       // the model files that are open, when one was mapped last
    void *                     computes;   // the real ggml_graph_compute of the engine whose ops are known
    struct sigaction           before_cut; // for SIGBUS
    bool                       quiet;
    char                       report[4096]; // a path; "": none
    pid_t                      process;      // that reports
};

extern struct ggs_stream_library * ggs_stream_library; // NULL: nothing is streamed in this process

static inline struct ggs_stream_library * ggs_stream_library_now(void) {
    return __atomic_load_n(&ggs_stream_library, __ATOMIC_ACQUIRE);
}

// The stream, NULL where none is wanted or it has given up.
static inline struct ggs_stream * ggs_stream_of_library(void) {
    struct ggs_stream_library * library = ggs_stream_library_now();
    return library == NULL || ggs_stream_now(library->stream) == GGS_STREAM_OFF ? NULL : library->stream;
}

// Called when the engine computes, with its address: checks its layout the first time. Returns
// whether its graphs can be streamed.
bool ggs_stream_library_wake(const void * caller);

// Writes what was done to the file that was asked for.
void ggs_stream_library_report(struct ggs_stream_library * library);
