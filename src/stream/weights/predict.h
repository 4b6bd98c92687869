// Predicts the experts of the next layers: their routers applied to this layer's router input.
//
// A thread of its own applies them: routers are megabytes, and all threads of the graph would wait
// for it. A group that has chosen meanwhile is left alone.
//
// Two layers ahead keep the disk busy while a layer waits for its last reads. If reads use nearly
// all of the disk's speed, nothing is predicted.
#pragma once

#include <pthread.h>

#include "stream/weights/expert-slots.h"

enum { GGS_PREDICT_TOKENS = 4, GGS_PREDICT_LAYERS = 2 };

// The load of the disk.
struct ggs_predict_load {
    double   busy;  // share of the disk's speed recently used by reads
    uint64_t at_ns; // end of the latest run, 0: none
    uint64_t bytes; // read until then
};

// What to predict: the state of each token, and groups with the number of choices that they had.
struct ggs_prediction {
    float *  state;
    size_t   capacity;
    uint64_t n_inputs, n_tokens;
    struct {
        struct ggs_expert_group * group;
        uint64_t                  choices;
    } next[GGS_PREDICT_LAYERS];
    uint32_t n; // of `next`; 0: nothing
};

// An expert that the group's next choice will probably include.
struct ggs_likely {
    struct ggs_expert_group * group;
    uint64_t                  choices; // that the group had: it is obsolete after the next one
    int32_t                   expert;
};

// A zeroed struct has no thread.
struct ggs_predictor {
    bool                  started, ending;
    bool                  busy; // reads the memory of routers, without the lock
    pthread_t             thread;
    pthread_cond_t        asked;
    struct ggs_prediction wanted, current; // `wanted` is replaced by a later one if it has not begun
    float *               score;
    int32_t *             experts;
    size_t                score_capacity, experts_capacity;
    struct ggs_likely *   likely; // experts of the latest prediction; those before `likely_at` were read
    size_t                n_likely, likely_at, likely_capacity;
};

// Reads experts of `next` early, and of the group after it, if the disk has time. `next` must not
// have chosen yet. Needs the stream's lock; runs in the thread that runs the graph and does not
// block.
void ggs_predict(struct ggs_stream * stream, const struct ggs_routing * now, struct ggs_expert_group * next);

// Reads likely experts while the disk has less to do than it can do at a time. Needs the stream's
// lock; called from any thread when reads have arrived.
void ggs_predict_read(struct ggs_stream * stream);

// Called at the end of a run. If the disk's speed is unknown, the share of waiting estimates its
// load.
void ggs_predict_end_run(struct ggs_stream * stream, uint64_t wait_ns, uint64_t run_ns);

// Ends the thread and frees what it had. Call it without the lock.
void ggs_predict_end(struct ggs_stream * stream);
