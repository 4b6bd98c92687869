// CPU backends in a program without symbols. What a maker function returns is compared with the
// layout of such a backend, and its compute function is replaced by a hook. In a program that runs,
// backends exist: one is searched for, and the entry of its compute function leads to the hook.
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

// Finds a backend that exists and returns the address of its compute function; 0 if there is none.
uint64_t ggs_backend_find_existing(void);
// The compute function with its displaced beginning, once its entry leads to ggs_backend_record.
void ggs_backend_displaced(void * function);

struct ggs_backend_found {
    uint64_t compute; // address of its compute function
    unsigned context; // index of its context
};
// Searches this process's memory, which is only read, for a backend (backend-search.c).
bool ggs_backend_search(struct ggs_backend_found * found, const struct ggs_view * object, uint64_t guid);

// The context of a backend; NULL if it is not the engine's.
struct ggs_backend_context * ggs_backend_context(const void * backend);
ggs_backend_compute *        ggs_backend_real(void);
// An address inside the engine.
const void * ggs_backend_engine(void);

// Validates the first graph: every pointer must be in the process's mappings, and every tensor must
// have the expected layout. Later graphs are trusted.
bool ggs_backend_proves_graph(const struct abi_graph * graph);

// Computes a graph and records it (backend-run.c).
ggs_backend_compute ggs_backend_record;
