// What every hook begins with.
#pragma once

#include "capture/hooks/resolve.h"

#define EXPORT    __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define CALLER    __builtin_return_address(0)

// REAL(name): declares `real`, the function behind the hook `name`, as the library that called finds it.
#define REAL(name)                                                      \
    static struct ggs_hook hook_of_##name = {#name, {{0, 0, NULL}}, 0}; \
    __typeof__(&name)      real           = (__typeof__(&name)) ggs_resolve(&hook_of_##name, CALLER)
