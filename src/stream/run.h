// One graph run: which of its ops read weights, and the exchange of their sources while they run.
//
// Thread 0 is the thread that called ggml_graph_compute. When it comes to an op that reads a weight it waits for the weight, puts a
// copy of the tensor that lies in our memory into the op's sources, and lets the other threads go on, which wait for that. When
// it comes to a later op, all threads have left this one (the engine's barrier lies between), so the source is put back.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stream/stream.h"

// A run begins on this thread. Returns whether it is streamed; then ggs_run_leave must follow.
bool ggs_run_enter(const struct abi_graph * graph);
void ggs_run_leave(void);

// The thread is about to compute `node`. Whether anything is done about it depends on the run alone, which all its threads see alike.
extern bool        ggs_run_running; // a graph runs that is streamed
void               ggs_run_exchange(struct abi_tensor * node);
static inline void ggs_run_op(struct abi_tensor * node) {
    if (__builtin_expect(__atomic_load_n(&ggs_run_running, __ATOMIC_ACQUIRE), 0)) ggs_run_exchange(node);
}

// A range that belongs to a model is about to be unmapped.
void ggs_run_unmap(const void * address, size_t length);

// In the child of a fork: sources are put back, nothing is streamed.
void ggs_run_child(void);

// What the op waits for comes at any moment: other threads of the run that sleep are woken.
void ggs_run_soon(void);
