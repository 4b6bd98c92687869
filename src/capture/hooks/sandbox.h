// A program that restricts its own system calls while it runs (seccomp): a call of ours that its filter does not allow would end it.
//
// Filters are noticed when they are installed, and what is needed later is prepared before: segments for every lane and for the journal.
// From then on nothing here opens, maps or prints. When the segments are full, recording ends and what is lost is counted. If no
// engine was seen by then, nothing is recorded.
#pragma once

#include <stdbool.h>

extern bool ggs_sandbox_;

static inline bool ggs_sandboxed(void) {
    return __builtin_expect(__atomic_load_n(&ggs_sandbox_, __ATOMIC_RELAXED), 0);
}
