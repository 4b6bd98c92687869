// Shared by the files of the core: the stream and its lock.
#pragma once

#include <assert.h>
#include <pthread.h>

#include "stream/budget.h"
#include "stream/disk/mapped-files.h"
#include "stream/memory/engine-buffers.h"
#include "stream/messages.h"
#include "stream/stream-run.h"
#include "stream/stream.h"
#include "stream/watch.h"
#include "stream/weight-uses.h"
#include "stream/weights/divide.h"
#include "stream/weights/predict.h"
#include "stream/weights/ring.h"
#include "stream/weights/shrink.h"
#include "stream/weights/spares.h"
#include "stream/weights/weights.h"

struct ggs_stream {
    bool running; // must be first: a streamed graph runs; read by every thread without the lock
    int  state;   // enum ggs_stream_state; written with the lock, read without

    // Set by create and set_engine.
    struct ggs_stream_settings   settings;
    struct ggs_stream_world      world;
    const struct abi_functions * engine;

    // Held by one of: the thread that runs a graph, the disk's threads on arrival, the threads that
    // give memory back and predict. Held for microseconds; waiting for a read releases it. Protects
    // all that follows, except `files` and `buffers`, which have their own locks and are used by
    // hooks.
    pthread_mutex_t lock;
    pthread_t       holder; // for assertions
    bool            held;
    pthread_cond_t  arrived; // signals that what is awaited has arrived, or a run has ended

    uint64_t             reading; // number of arrivals that are READING
    uint64_t             filling; // of those, requested while the disk was idle
    struct ggs_arrival * awaited; // by the thread that runs a graph
    uint32_t             awaits_any;
    uint32_t             draining; // threads that wait until nothing is READING: no graph begins, nothing is predicted

    struct ggs_files          files;
    struct ggs_engine_buffers buffers;
    struct ggs_weight_table   weights;
    struct ggs_weight_ring    ring;
    struct ggs_spares         spares;
    struct ggs_uses           uses;
    struct ggs_stream_run     run;
    struct ggs_budget         budget;
    struct ggs_messages       messages;
    struct ggs_memory_watch   watch;
    struct ggs_speed          speed;    // of the disk; zeros if unknown
    bool                      buffered; // reads go through buffers
    struct ggs_stream_counts  counts;
    struct ggs_stream_sizes   sizes;
    bool                      cut_reported; // a truncated model file was reported; also set in a signal handler

    char *   kept; // memory of kept weights
    uint64_t kept_bytes;
    uint64_t given; // bytes given back since memory was divided

    // Experts.
    struct ggs_predict_load load;
    struct ggs_predictor    predictor;
    size_t                  fill_at, give_at; // next groups to fill and to take memory from
    struct {
        uint32_t   capacity; // of the largest group
        int32_t *  experts;
        uint32_t * count;
        float *    score;
    } scratch;
};

// ---- the lock ----

static inline void ggs_stream_lock(struct ggs_stream * s) {
    pthread_mutex_lock(&s->lock);
    s->holder = pthread_self();
    s->held   = true;
}

static inline void ggs_stream_unlock(struct ggs_stream * s) {
    s->held = false;
    pthread_mutex_unlock(&s->lock);
}

// For assertions: only the holder can check that it holds the lock.
static inline void ggs_stream_assert_locked(const struct ggs_stream * s) {
    assert(s->held && pthread_equal(s->holder, pthread_self()));
    (void) s;
}

// Releases the lock until what is awaited has arrived.
static inline void ggs_stream_wait(struct ggs_stream * s) {
    ggs_stream_assert_locked(s);
    s->held = false;
    pthread_cond_wait(&s->arrived, &s->lock);
    s->holder = pthread_self();
    s->held   = true;
}

// ---- functions that need the lock ----

__attribute__((format(printf, 2, 3))) void ggs_stream_print(struct ggs_stream * stream, const char * format, ...);

// Like ggs_stream_give_up.
__attribute__((format(printf, 2, 3))) void ggs_stream_stop(struct ggs_stream * stream, const char * format, ...);

void ggs_stream_set_state(struct ggs_stream * stream, enum ggs_stream_state state);

// Counts a failed read, and stops streaming if the file was changed.
void ggs_stream_count_failure(struct ggs_stream * stream);

// Waits until any read has arrived, or none is in flight and nothing is being predicted.
void ggs_stream_wait_any(struct ggs_stream * stream);
void ggs_stream_drain(struct ggs_stream * stream);

// Waits for a place that an op needs, and counts the wait. False if it failed; streaming stops if
// the file was changed.
bool ggs_stream_await(struct ggs_stream * stream, struct ggs_arrival * arrival);

// With --verify: compares what was read with the file; counts, and stops streaming if they differ.
bool ggs_stream_verify(struct ggs_stream * stream, const struct ggs_stream_file * file, uint64_t offset,
                       const char * data, uint64_t bytes);

// Reserves and commits memory. NULL if there is none.
char * ggs_stream_acquire(struct ggs_stream * stream, uint64_t bytes, bool huge);
void   ggs_stream_free(struct ggs_stream * stream, char * at, uint64_t bytes);

// Drops all weights and their memory. No graph may run, and none begins meanwhile; waits for reads.
void ggs_stream_forget(struct ggs_stream * stream);

// Called when the disk has nothing urgent: reads likely experts (fill.c).
void ggs_fill_idle(struct ggs_stream * stream);
