// What the files of the core share: the stream itself and its lock.
#pragma once

#include <assert.h>
#include <pthread.h>

#include "stream/budget.h"
#include "stream/disk/files.h"
#include "stream/memory/engine-buffers.h"
#include "stream/run.h"
#include "stream/stream.h"
#include "stream/tell.h"
#include "stream/uses.h"
#include "stream/watch.h"
#include "stream/weights/divide.h"
#include "stream/weights/give.h"
#include "stream/weights/predict.h"
#include "stream/weights/ring.h"
#include "stream/weights/spares.h"
#include "stream/weights/weights.h"

struct ggs_stream {
    bool running; // first: a graph runs that is streamed; read by every thread without the lock
    int  state;   // enum ggs_stream_state; changed with the lock held, read without

    // Settled by create and set_engine.
    struct ggs_stream_settings   settings;
    struct ggs_stream_world      world;
    const struct abi_functions * engine;

    // One at a time: the thread that runs a graph, those of the disk when something has come, the
    // one that gives memory back. Held for microseconds; whoever waits for a read lets go of it.
    // All that follows is its, but for `files` and `buffers`, which have locks of their own and are
    // asked from hooks.
    pthread_mutex_t lock;
    pthread_t       holder; // for assertions
    bool            held;
    pthread_cond_t  arrived; // what is awaited has come; a run has ended

    uint64_t             reading; // arrivals that are READING
    uint64_t             filling; // of those, asked for because the disk had nothing else to do
    struct ggs_arrival * awaited; // by the thread that runs a graph
    uint32_t             awaits_any;
    bool                 draining; // nothing is asked for until nothing is READING

    struct ggs_files          files;
    struct ggs_engine_buffers buffers;
    struct ggs_weight_table   weights;
    struct ggs_weight_ring    ring;
    struct ggs_spares         spares;
    struct ggs_uses           uses;
    struct ggs_stream_run     run;
    struct ggs_budget         budget;
    struct ggs_tell           tell;
    struct ggs_memory_watch   watch;
    struct ggs_speed          speed; // of the disk; zeros where it is not known
    struct ggs_stream_counts  counts;
    struct ggs_stream_sizes   sizes;
    bool                      cut_told; // that a model file was cut; also from a signal handler

    char *   kept; // memory of weights that are kept
    uint64_t kept_bytes;
    uint64_t given; // back, since memory was divided

    // Experts.
    struct ggs_predict_load load;
    size_t                  fill_at, give_at; // groups that are filled, and give memory back, next
    struct {
        uint32_t   capacity; // experts of the largest group
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

// Of asserts: only the holder itself can find that it holds the lock.
static inline void ggs_stream_assert_locked(const struct ggs_stream * s) {
    assert(s->held && pthread_equal(s->holder, pthread_self()));
    (void) s;
}

// Lets go of the lock until what is awaited has come.
static inline void ggs_stream_wait(struct ggs_stream * s) {
    ggs_stream_assert_locked(s);
    s->held = false;
    pthread_cond_wait(&s->arrived, &s->lock);
    s->holder = pthread_self();
    s->held   = true;
}

// ---- with the lock held ----

__attribute__((format(printf, 2, 3))) void ggs_stream_say(struct ggs_stream * stream, const char * format, ...);

// As ggs_stream_give_up.
__attribute__((format(printf, 2, 3))) void ggs_stream_stop(struct ggs_stream * stream, const char * format, ...);

void ggs_stream_set_state(struct ggs_stream * stream, enum ggs_stream_state state);

// A read failed: counts it, and stops where that is because the file was changed.
void ggs_stream_count_failure(struct ggs_stream * stream);

// Waits until any read has come, or until none is under way.
void ggs_stream_wait_any(struct ggs_stream * stream);
void ggs_stream_drain(struct ggs_stream * stream);

// Waits for a place that an op needs, and counts that. False: it failed, and where that is because
// the file was changed, nothing more is streamed.
bool ggs_stream_await(struct ggs_stream * stream, struct ggs_arrival * arrival);

// Has what was read the same bytes as the file? Only with --verify; counts, and stops where it has
// not.
bool ggs_stream_verify(struct ggs_stream * stream, const struct ggs_stream_file * file, uint64_t offset,
                       const char * data, uint64_t bytes);

// Reserved and committed in one. NULL if there is none.
char * ggs_stream_acquire(struct ggs_stream * stream, uint64_t bytes, bool huge);
void   ggs_stream_free(struct ggs_stream * stream, char * at, uint64_t bytes);

// Forgets all weights and what is divided among them. No graph may run; waits for reads.
void ggs_stream_forget(struct ggs_stream * stream);

// The disk has nothing urgent to do: reads experts that are likely to be chosen (fill.c).
void ggs_fill_idle(struct ggs_stream * stream);
