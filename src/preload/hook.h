// Common start of every hook.
#pragma once

#include "preload/resolve.h"

// Hooks have no prototypes, because only the engine calls them.
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EXPORT    __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define CALLER    __builtin_return_address(0)

// REAL(function): declares `real`, the function behind the hook `function` as seen by the calling
// library.
#define REAL(function)                                                                   \
    static struct ggs_hook hook_of_##function = GGS_HOOK(hook_of_##function, #function); \
    __typeof__(&function)  real               = (__typeof__(&function)) ggs_resolve(&hook_of_##function, CALLER)
