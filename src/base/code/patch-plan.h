// Which functions of an engine inside an object can be patched to call hooks, and why others
// cannot. Shared by the capture library, which patches, and ggscope doctor, which examines files.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/code/entry.h"

// Every engine that computes on the CPU has this function; an object without it has no engine.
#define GGS_ENGINE_MARKER "ggml_graph_compute"

enum ggs_shape {
    GGS_SHAPE_OTHER,   // arguments on the stack, or unknown
    GGS_SHAPE_VOID,    // arguments in registers, no result
    GGS_SHAPE_RETURNS, // arguments in registers, result in rax
};

struct ggs_patch {
    const struct ggs_code_function * function;
    struct ggs_code_entry            entry;
    enum ggs_shape                   shape;
    const char *                     refused; // half a sentence; NULL if it can be patched
};
enum { GGS_PATCHES_MOST = 128 };

// True if there is a hook for a function of that name.
typedef bool ggs_is_hooked(void * context, const char * name);

// Decides about all functions that have hooks. `openmp`: the object calls OpenMP's barrier through
// a slot, which is hooked in place of ggml_barrier. Returns the number of `patches`.
size_t ggs_patch_plan(struct ggs_patch patches[GGS_PATCHES_MOST], const struct ggs_code * code,
                      ggs_is_hooked * is_hooked, void * context, bool openmp);
// Returns NULL if graphs can be recorded with these patches; else the missing function, with the
// reason in `*reason`.
const char * ggs_patch_plan_lacks(const struct ggs_patch * patches, size_t n, const struct ggs_code * code,
                                  const char ** reason);
// Returns the i-th function that every recording must be able to call; NULL beyond the last.
const char * ggs_engine_asked(size_t i);

// Returns the function of that name; NULL if there is none or more than one.
const struct ggs_code_function * ggs_code_find(const struct ggs_code * code, const char * name);
