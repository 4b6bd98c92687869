// Finding the real function behind a hook.
//
// The answer depends on who calls: a process can hold several copies of ggml, opened RTLD_LOCAL, where RTLD_NEXT
// does not look. So each hook keeps the library of its caller (found by return address) and the function that
// this library, or one it depends on, defines.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GGS_HOOK_BINDINGS = 16 };

struct ggs_binding {
    uintptr_t low, size; // where the caller's library lies; the size is written last, and 0 takes the binding away
    void *    function;
};

// What a call mostly needs, the first binding, lies in one cache line.
struct ggs_hook {
    _Alignas(64) const char * name;
    const struct ggs_binding *
                       last; // that was needed last: a backend's library calls hundreds of times in a row. Never NULL
    unsigned           n_bindings;
    struct ggs_binding bindings[GGS_HOOK_BINDINGS];
};

// struct ggs_hook HOOK = GGS_HOOK(HOOK, "function");
#define GGS_HOOK(hook, function) \
    { .name = (function), .last = (hook).bindings }

// For a caller that is not the last one: finds and remembers. NULL only if the function exists nowhere.
void * ggs_resolve_slow(struct ggs_hook * hook, const void * caller);

// A library may have been unloaded, and another may come to lie where it was: drops what is gone.
void ggs_resolve_forget(void);

// In the child of a fork: the lock is free, even if another thread held it.
void ggs_resolve_unlock(void);

// The function that this thread went into last. An engine function that ends in a call to another one jumps there, and
// the return address is then the hook's that called the first: the caller is the library of that function.
extern _Thread_local void * ggs_resolve_last;

// Capture and stream library may both be here. The one that is called first takes the other's hook for the real function, which then finds
// the engine by the address that the first was called from. Both libraries define this, and share one.
extern _Thread_local const void * ggscope_caller __attribute__((visibility("default")));

extern uintptr_t ggs_resolve_other[2]; // where the other one lies, and its size

static inline _Bool ggs_binding_of(const struct ggs_binding * binding, const void * caller) {
    uintptr_t size = __atomic_load_n(&binding->size, __ATOMIC_ACQUIRE);
    return __builtin_expect((uintptr_t) caller - binding->low < size, 1);
}

static inline void * ggs_resolve(struct ggs_hook * hook, const void * caller) {
    if (__builtin_expect(ggs_resolve_other[1] != 0, 0)) {
        if ((uintptr_t) caller - ggs_resolve_other[0] < ggs_resolve_other[1]) caller = ggscope_caller;
        ggscope_caller = caller;
    }
    const struct ggs_binding * last = __atomic_load_n(&hook->last, __ATOMIC_RELAXED);
    void * function                 = ggs_binding_of(last, caller) ? last->function : ggs_resolve_slow(hook, caller);
    ggs_resolve_last                = function;
    return function;
}

// The real dlclose, which is one of the hooks too.
int ggs_resolve_close(void * library);

// A function by name, as the library around `caller` would find it. NULL if there is none.
void * ggs_resolve_name(const char * name, const void * caller);
