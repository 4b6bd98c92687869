// Scheduling of threads that work for microseconds at a time, beside threads that compute without a
// pause.
#pragma once

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// Asks for short time slices, which are scheduled sooner (Linux 6.12 and newer; ignored by others).
static inline void ggs_turns_short(void) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t  nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } turns = {.size = 0};
    if (syscall(SYS_sched_getattr, 0, &turns, sizeof(turns), 0) != 0 || turns.policy != SCHED_OTHER) return;
    turns.runtime = 500000; // ns
    syscall(SYS_sched_setattr, 0, &turns, 0);
}
