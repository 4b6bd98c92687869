// The stream library in its host: the stream that hooks call, and its environment.
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
    bool                       fits;       // for the open model files, when one was last mapped
    void *                     computes;   // the real ggml_graph_compute of the known engine
    struct sigaction           before_cut; // previous action for SIGBUS
    bool                       quiet;
    char                       report[4096]; // a path; "": none
    pid_t                      process;      // the process that reports
};

extern struct ggs_stream_library * ggs_stream_library; // NULL: nothing is streamed in this process

static inline struct ggs_stream_library * ggs_stream_library_now(void) {
    return __atomic_load_n(&ggs_stream_library, __ATOMIC_ACQUIRE);
}

// Returns the stream, NULL if there is none or it has given up.
static inline struct ggs_stream * ggs_stream_of_library(void) {
    struct ggs_stream_library * library = ggs_stream_library_now();
    return library == NULL || ggs_stream_now(library->stream) == GGS_STREAM_OFF ? NULL : library->stream;
}

// Called with an engine address when the engine computes; the first call checks its layout. True if
// its graphs can be streamed.
bool ggs_stream_library_wake(const void * caller);

// Writes the report to the requested file.
void ggs_stream_library_report(struct ggs_stream_library * library);
