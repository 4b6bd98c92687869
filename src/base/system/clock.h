// The system's clocks, in nanoseconds.
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t ggs_clock_read(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

// CLOCK_MONOTONIC.
static inline uint64_t ggs_clock_now(void) {
    return ggs_clock_read(CLOCK_MONOTONIC);
}

// The time in `ms` milliseconds, for functions that wait until a time of `clock`.
static inline struct timespec ggs_clock_in_ms(clockid_t clock, uint64_t ms) {
    uint64_t at = ggs_clock_read(clock) + ms * 1000000u;
    return (struct timespec){.tv_sec = (time_t) (at / 1000000000u), .tv_nsec = (long) (at % 1000000000u)};
}
