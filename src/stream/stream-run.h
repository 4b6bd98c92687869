// One graph run: replaces the sources of ops while they run.
//
// The first thread is the one that called ggml_graph_compute. At an op that reads a weight, it
// waits for the weight, sets a copy of the tensor in the stream's memory as the op's source, and
// wakes the other threads, which wait for that. At a later op all threads have left this one (the
// engine's barrier is between them), so the source is restored.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/ggml-abi.h"

struct ggs_stream;
struct ggs_weight;
struct ggs_journal_streamed_use;

enum { GGS_SHADOW_BYTES = sizeof(struct abi_tensor) + 16 }; // behind the name: a pointer and padding

struct ggs_shadows {
    char bytes[2][GGS_SHADOW_BYTES]; // of a weight and of its experts' ids
};

struct ggs_stream_run {
    bool                              active;  // `thread` runs a streamed graph
    bool                              forget;  // models were unmapped meanwhile
    struct ggs_shadows *              shadows; // by use
    size_t                            shadows_capacity;
    struct ggs_journal_streamed_use * outcomes; // outcome of each use, for a recording
    size_t                            n_outcomes, outcomes_capacity;
    struct ggs_weight **              order; // the run's weights that go through the ring
    size_t                            n_order, order_capacity;
    uint32_t                          first_exchanged, end_exchanged;
    uint64_t                          began, waited_before;
    // Accessed without the lock.
    uint64_t thread;  // the thread that runs the graph (pthread_self)
    uint32_t ready;   // number of uses that other threads may proceed with; a futex
    uint32_t waiters; // threads sleeping on it
};

void ggs_stream_run_release(struct ggs_stream_run * run);

static inline bool ggs_stream_run_is_mine(const struct ggs_stream_run * run) {
    return __atomic_load_n(&run->thread, __ATOMIC_RELAXED) == (uint64_t) pthread_self();
}

// Wakes the run's other threads, because data for the op arrives soon. Callable from any thread.
void ggs_stream_run_wake_soon(struct ggs_stream * stream);

// Restores the sources of ops. Needs the lock.
void ggs_stream_run_put_back(struct ggs_stream * stream);
