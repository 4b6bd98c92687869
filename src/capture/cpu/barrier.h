// Detects engines whose barrier is not seen. Some compilers inline ggml_barrier into the loop over
// a graph's nodes: no call then ends an op. What is left is the plan's abort callback, which thread
// 0 calls after each node and before the barrier.
//
// Each copy of the engine in the process is watched until one of its graph runs shows how it was
// compiled. The program's own callback is still called.
#pragma once

#include <stdbool.h>

#include "preload/ggml-abi.h"

struct ggs_barrier_watch {
    void * engine;
    _Bool (*abort)(void * data); // the program's own, NULL for none
    void * abort_data;
    bool   alone; // the run has one thread
};

// Around a graph run, on the thread that opened its slot. `engine` is the function that computes.
// watch returns false if the barrier is known to be seen: there is nothing to watch. unwatch
// restores the plan, and returns true if the barrier is not seen.
bool ggs_barrier_watch(struct ggs_barrier_watch * watch, void * engine, struct abi_plan * plan);
bool ggs_barrier_unwatch(const struct ggs_barrier_watch * watch, struct abi_plan * plan);

// True if the barrier of this engine is known not to be seen.
bool ggs_barrier_is_hidden(const void * engine);

extern bool        ggs_barrier_hidden_; // of any engine
static inline bool ggs_barrier_hidden(void) {
    return __builtin_expect(__atomic_load_n(&ggs_barrier_hidden_, __ATOMIC_RELAXED), 0);
}

// The calling thread meets the others of its graph in `real(data)`: what it waits there belongs to
// its op. (cpu-hooks.c)
void ggs_barrier_through(void (*real)(void * data), void * data);

#ifdef __x86_64__
// The hook of ggml_barrier for callers that rely on registers which the function leaves alone
// (base/code/entry.h): keeps all of them, and aligns the stack. (cpu-hooks.c)
void ggs_barrier_preserving(void * pool) __attribute__((no_caller_saved_registers));
#endif
