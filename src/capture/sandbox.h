// Programs that restrict their own system calls while they run (seccomp): a call of ours that the
// filter forbids would end the program.
//
// Installing a filter is hooked, and segments for lanes and the journal are made ahead of it. After
// that nothing here opens, maps or prints. When the segments are full, recording ends and losses
// are counted. If no engine has been found by then, nothing is recorded.
#pragma once

#include <stdbool.h>

extern bool ggs_sandbox_;

static inline bool ggs_sandboxed(void) {
    return __builtin_expect(__atomic_load_n(&ggs_sandbox_, __ATOMIC_RELAXED), 0);
}
