// Finds the real function behind a hook.
//
// The function depends on the caller: a process can have several copies of ggml, opened RTLD_LOCAL,
// which RTLD_NEXT does not search. So each hook keeps, per calling library (found by return
// address), the function that this library or one of its dependencies defines.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Immutable except for `size`, which becomes 0 when the library is unloaded. Never freed, because a
// thread may be reading it.
struct ggs_binding {
    uintptr_t            low, size; // address range of the caller's library
    void *               function;
    struct ggs_binding * next;
};

// The members needed by most calls share a cache line.
struct ggs_hook {
    _Alignas(64) const char * name;
    const struct ggs_binding * last;     // most recent one: a backend calls hundreds of times in a row. Never NULL
    const struct ggs_binding * before;   // the one before. Never NULL
    struct ggs_binding *       bindings; // of the loaded libraries, newest first
    struct ggs_binding         first;
};

// struct ggs_hook HOOK = GGS_HOOK(HOOK, "function");
#define GGS_HOOK(hook, function) \
    { .name = (function), .last = &(hook).first, .before = &(hook).first }

// For a caller without a recent binding: finds and keeps the function. NULL only if it does not
// exist.
void * ggs_resolve_slow(struct ggs_hook * hook, const void * caller);

// For the child of a fork: frees the lock even if another thread held it.
void ggs_resolve_unlock(void);

// The real function that this thread called last. If an engine function ends in a tail call, the
// return address lies in the hook that called it; the caller is then the library of this function.
extern _Thread_local void * ggs_resolve_last;

// If both preload libraries are loaded, the first one's real function is the hook of the second,
// which finds the engine by the first one's caller. Both libraries define and share this variable.
extern _Thread_local const void * ggscope_caller __attribute__((visibility("default")));

extern uintptr_t ggs_resolve_other[2]; // start and size of the other preload library

static inline bool ggs_binding_of(const struct ggs_binding * binding, const void * caller) {
    uintptr_t size = __atomic_load_n(&binding->size, __ATOMIC_ACQUIRE);
    return __builtin_expect((uintptr_t) caller - binding->low < size, 1);
}

// If both are loaded: returns the caller outside of both, and passes it to the other one's hook.
const void * ggs_resolve_outside(const void * caller);

static inline void * ggs_resolve(struct ggs_hook * hook, const void * caller) {
    if (__builtin_expect(ggs_resolve_other[1] != 0, 0)) caller = ggs_resolve_outside(caller);
    const struct ggs_binding * last = __atomic_load_n(&hook->last, __ATOMIC_RELAXED);
    void * function                 = ggs_binding_of(last, caller) ? last->function : ggs_resolve_slow(hook, caller);
    ggs_resolve_last                = function;
    return function;
}

// For engines whose functions are patched to call the hooks (capture/inside). Set once by a library
// that does so.
struct ggs_resolve_inside {
    // If `caller` lies in an object with such an engine: its range, and the original function of
    // that name. False if there is none.
    bool (*find)(const char * name, const void * caller, struct ggs_binding * binding);
    // Returns the original of a patched function; else `function`.
    void * (*before)(void * function);
    // True if the binding comes from `find` and its object is still loaded.
    bool (*is_loaded)(const struct ggs_binding * binding);
};
extern const struct ggs_resolve_inside * ggs_resolve_inside;

// Drops libraries that were unloaded while dlclose was not hooked.
void ggs_resolve_refresh(void);

// True if the main program links an engine.
bool ggs_resolve_has_engine(void);

// Returns a function by name as the library around `caller` would find it. NULL if there is none.
void * ggs_resolve_name(const char * name, const void * caller);
