// Which functions of an engine inside an object can be made to lead to hooks, and why others
// cannot. The same for the library that does it and for ggscope doctor, which looks at files.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/code/entry.h"

// Every engine that computes on the CPU has it. An object without it has none inside.
#define GGS_ENGINE_MARKER "ggml_graph_compute"

enum ggs_shape {
    GGS_SHAPE_OTHER,   // arguments lie on the stack, or it is not known
    GGS_SHAPE_VOID,    // arguments are in registers, nothing is returned
    GGS_SHAPE_RETURNS, // arguments are in registers, a value is returned in rax
};

struct ggs_patch {
    const struct ggs_code_function * function;
    struct ggs_code_entry            entry;
    enum ggs_shape                   shape;
    const char *                     refused; // half a sentence; NULL if it can be done
};
enum { GGS_PATCHES_MOST = 128 };

// True if there is a hook for a function of that name.
typedef bool ggs_is_hooked(void * context, const char * name);

// Decides about all functions that there are hooks for. `openmp`: the object calls OpenMP's barrier
// through a slot, which is hooked in place of ggml_barrier. Returns how many there are in
// `patches`.
size_t ggs_patch_plan(struct ggs_patch patches[GGS_PATCHES_MOST], const struct ggs_code * code,
                      ggs_is_hooked * is_hooked, void * context, bool openmp);
// NULL if graphs can be recorded with these patches; else the function that is missing, with the
// reason in `*reason`.
const char * ggs_patch_plan_lacks(const struct ggs_patch * patches, size_t n, const struct ggs_code * code,
                                  const char ** reason);
// The i-th function that a recording cannot do without asking; NULL beyond the last.
const char * ggs_engine_asked(size_t i);

// The function of that name; NULL if there is none, or more than one.
const struct ggs_code_function * ggs_code_find(const struct ggs_code * code, const char * name);
