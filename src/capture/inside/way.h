// Code that leads from a function's entry to its hook. It is the same wherever it runs. For the
// machine that this is compiled for (way-*.c); on others there is none.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code/entry.h"

enum { GGS_WAY_MOST = 1024 };

#if defined(__x86_64__) || defined(__aarch64__)

// Writes a jump to a hook that may be far away. Returns the number of bytes.
size_t ggs_way_write(uint8_t to[GGS_WAY_MOST], const struct ggs_code_entry * entry, const void * hook);
// Writes a call of a hook that preserves all caller-saved registers, except the one of the result
// if the hook returns a value, and aligns the stack. Returns 0 if the processor cannot do that.
size_t ggs_way_write_preserving(uint8_t to[GGS_WAY_MOST], const struct ggs_code_entry * entry, const void * hook,
                                bool returns);

#else

static inline size_t ggs_way_write(uint8_t to[GGS_WAY_MOST], const struct ggs_code_entry * entry, const void * hook) {
    (void) to, (void) entry, (void) hook;
    return 0;
}
static inline size_t ggs_way_write_preserving(uint8_t to[GGS_WAY_MOST], const struct ggs_code_entry * entry,
                                              const void * hook, bool returns) {
    (void) returns;
    return ggs_way_write(to, entry, hook);
}

#endif
