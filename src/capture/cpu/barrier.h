// Is the engine's barrier seen? Some compilers put ggml_barrier into the loop over a graph's nodes instead of calling it: then no call
// tells that an op ended. What is left is the plan's abort callback, which thread 0 asks after each node and before the barrier.
//
// Each copy of the engine in the process is watched until one of its graph runs shows how it was compiled. The program's own callback
// is called through.
#pragma once

#include <stdbool.h>

#include "capture/ggml-abi.h"

struct ggs_barrier_watch {
    void * engine;
    _Bool (*abort)(void * data); // the program's own, NULL for none
    void * abort_data;
    bool   alone; // the run has one thread
};

// Around a graph run on the thread that computes it, whose slot it has opened. `engine` is the function that computes. False if
// there is nothing to watch: the barrier is seen. `unwatch` gives the plan back as it was, and returns true if it is not.
bool ggs_barrier_watch(struct ggs_barrier_watch * watch, void * engine, struct abi_plan * plan);
bool ggs_barrier_unwatch(const struct ggs_barrier_watch * watch, struct abi_plan * plan);

// Is it known that the barrier of this engine is not seen?
bool ggs_barrier_is_hidden(const void * engine);

extern bool        ggs_barrier_hidden_; // of any engine
static inline bool ggs_barrier_hidden(void) {
    return __builtin_expect(__atomic_load_n(&ggs_barrier_hidden_, __ATOMIC_RELAXED), 0);
}
