// One graph run: the exchange of its ops' sources while they run.
//
// The first thread is the one that called ggml_graph_compute. When it comes to an op that reads a
// weight it waits for the weight, puts a copy of the tensor that lies in our memory into the op's
// sources, and lets the other threads go on, which wait for that. When it comes to a later op, all
// threads have left this one (the engine's barrier lies between), so the source is put back.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/ggml-abi.h"

struct ggs_stream;
struct ggs_weight;
struct ggs_journal_streamed_use;

enum { GGS_SHADOW_BYTES = sizeof(struct abi_tensor) + 16 }; // behind the name: a pointer, and padding

struct ggs_shadows {
    char bytes[2][GGS_SHADOW_BYTES]; // of a weight and of the ids of its experts
};

struct ggs_stream_run {
    bool                              active;  // `thread` runs a graph that is streamed
    bool                              forget;  // models went away meanwhile
    struct ggs_shadows *              shadows; // by use
    size_t                            shadows_capacity;
    struct ggs_journal_streamed_use * told; // what became of each use, if a recording wants it
    size_t                            n_told, told_capacity;
    struct ggs_weight **              order; // of the weights in this run that go through the ring
    size_t                            n_order, order_capacity;
    uint32_t                          first_exchanged, end_exchanged;
    uint64_t                          began, waited_before;
    // Read and written without the lock.
    uint64_t thread;  // that runs the graph, as pthread_self gives it
    uint32_t ready;   // uses that other threads may go on with; a futex
    uint32_t waiters; // threads that sleep on it
};

void ggs_stream_run_release(struct ggs_stream_run * run);

static inline bool ggs_stream_run_is_mine(const struct ggs_stream_run * run) {
    return __atomic_load_n(&run->thread, __ATOMIC_RELAXED) == (uint64_t) pthread_self();
}

// What the op waits for comes at any moment: other threads of the run that sleep are woken. From
// any thread.
void ggs_stream_run_wake_soon(struct ggs_stream * stream);

// Puts the sources of ops back as they were. With the lock held.
void ggs_stream_run_put_back(struct ggs_stream * stream);
