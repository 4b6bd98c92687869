// CPU backends in a program without symbols. The object that a maker function returns is compared
// with the layout of such a backend, and its compute function is replaced by a hook.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/code/backend-plan.h"
#include "base/code/view.h"
#include "preload/ggml-abi.h"

// The part of a backend's context that the engine's functions use. Releases append to it.
struct ggs_backend_context {
    int32_t n_threads;
    void *  pool;
    void *  work;
    size_t  work_size;
    _Bool (*abort)(void * data); // called by thread 0 after every computed node
    void * abort_data;
};

typedef int ggs_backend_compute(void * backend, struct abi_graph * graph);

// Expects backends of an object; `view`, its view in memory, is copied. Only one object can be
// recorded this way: false if there is another, or if its tables are not found.
bool ggs_backends_expect(const struct ggs_view * view, uint64_t guid);
// The hook of the i-th maker function, and where the original function is stored.
void *  ggs_backend_maker_hook(unsigned i);
void ** ggs_backend_maker(unsigned i);

// The context of a backend whose compute function was replaced.
struct ggs_backend_context * ggs_backend_context(const void * backend);
ggs_backend_compute *        ggs_backend_real(void);

// Validates the first graph: every pointer must be in the process's mappings, and every tensor must
// have the expected layout. Later graphs are trusted.
bool ggs_backend_proves_graph(const struct abi_graph * graph);

// Computes a graph and records it (backend-run.c).
ggs_backend_compute ggs_backend_record;
