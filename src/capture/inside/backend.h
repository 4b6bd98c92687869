// Backends of the CPU in a program without symbols: an object that its maker returns is compared
// with what such a backend is, and its function that computes a graph is exchanged for one of ours.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/code/backend-plan.h"
#include "base/code/view.h"
#include "preload/ggml-abi.h"

// What the engine's functions use of a backend's context. Releases append to it.
struct ggs_backend_context {
    int32_t n_threads;
    void *  pool;
    void *  work;
    size_t  work_size;
    _Bool (*abort)(void * data); // asked by thread 0 after every node that is computed
    void * abort_data;
};

typedef int ggs_backend_compute(void * backend, struct abi_graph * graph);

// `view` is that of the object in memory, and is copied. One object at most has its backends
// recorded so: false if there is another, or if its names are not found.
bool ggs_backends_expect(const struct ggs_view * view, uint64_t guid);
// The hook for the i-th function that makes backends, and where the function as it was is kept.
void *  ggs_backend_maker_hook(unsigned i);
void ** ggs_backend_maker(unsigned i);

// Of a backend whose function was exchanged.
struct ggs_backend_context * ggs_backend_context(const void * backend);
ggs_backend_compute *        ggs_backend_real(void);

// The first graph: every pointer in it is looked up in the process's mappings, every tensor must
// be laid out as known. After that all graphs are.
bool ggs_backend_proves_graph(const struct abi_graph * graph);

// Computes a graph, and records it (backend-run.c).
ggs_backend_compute ggs_backend_record;
