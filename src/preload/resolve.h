// Finding the real function behind a hook.
//
// It depends on the caller: a process can hold several copies of ggml, opened RTLD_LOCAL, where
// RTLD_NEXT does not search. So each hook keeps, by library of the caller (found by return
// address), the function that this library, or one it depends on, defines.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Never changed but for `size`, which becomes 0 when the library is unloaded, and never freed: a
// thread may be reading it.
struct ggs_binding {
    uintptr_t            low, size; // where the caller's library lies
    void *               function;
    struct ggs_binding * next;
};

// What a call mostly needs lies in one cache line.
struct ggs_hook {
    _Alignas(64) const char * name;
    const struct ggs_binding * last;   // needed last: a backend's library calls hundreds of times in a row. Never NULL
    const struct ggs_binding * before; // and the one before it. Never NULL
    struct ggs_binding *       bindings; // of the libraries that are loaded, newest first
    struct ggs_binding         first;
};

// struct ggs_hook HOOK = GGS_HOOK(HOOK, "function");
#define GGS_HOOK(hook, function) \
    { .name = (function), .last = &(hook).first, .before = &(hook).first }

// For a caller that is not the last one: finds the function and keeps it. NULL only if it exists
// nowhere.
void * ggs_resolve_slow(struct ggs_hook * hook, const void * caller);

// In the child of a fork: the lock is free, even if another thread held it.
void ggs_resolve_unlock(void);

// The real function that this thread called last. If an engine function ends in a jump to another
// one (a tail call), the return address lies in the hook that called the first: the caller is then
// the library of this function.
extern _Thread_local void * ggs_resolve_last;

// Both preload libraries may be loaded. The first one's real function is then the hook of the
// second, which finds the engine by the address that the first was called from. Both define this
// variable, and share one.
extern _Thread_local const void * ggscope_caller __attribute__((visibility("default")));

extern uintptr_t ggs_resolve_other[2]; // where the other one lies, and its size

static inline bool ggs_binding_of(const struct ggs_binding * binding, const void * caller) {
    uintptr_t size = __atomic_load_n(&binding->size, __ATOMIC_ACQUIRE);
    return __builtin_expect((uintptr_t) caller - binding->low < size, 1);
}

// With both loaded: the caller outside of both, which the other one's hook gets too.
const void * ggs_resolve_outside(const void * caller);

static inline void * ggs_resolve(struct ggs_hook * hook, const void * caller) {
    if (__builtin_expect(ggs_resolve_other[1] != 0, 0)) caller = ggs_resolve_outside(caller);
    const struct ggs_binding * last = __atomic_load_n(&hook->last, __ATOMIC_RELAXED);
    void * function                 = ggs_binding_of(last, caller) ? last->function : ggs_resolve_slow(hook, caller);
    ggs_resolve_last                = function;
    return function;
}

// Engines whose functions were made to lead to the hooks themselves (capture/inside): set by a
// library that does so, for as long as the process lives.
struct ggs_resolve_inside {
    // If `caller` lies in an object that has such an engine inside: where that lies, and the
    // function of that name as it was. False if there is none.
    bool (*find)(const char * name, const void * caller, struct ggs_binding * binding);
    // A function as it was, if it leads to a hook; else `function`.
    void * (*before)(void * function);
    // True if the binding is one of `find`, of an object that is loaded.
    bool (*is_loaded)(const struct ggs_binding * binding);
};
extern const struct ggs_resolve_inside * ggs_resolve_inside;

// Forgets libraries that were unloaded unseen: while calls of dlclose did not come here.
void ggs_resolve_refresh(void);

// True if the program itself links an engine.
bool ggs_resolve_has_engine(void);

// A function by name, as the library around `caller` would find it. NULL if there is none.
void * ggs_resolve_name(const char * name, const void * caller);
