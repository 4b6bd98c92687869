// Ticks: the time stamp counter where it counts at one rate on all cores, else CLOCK_MONOTONIC.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

extern bool ggs_clock_is_ns; // decided once, before the first tick is read

static inline uint64_t ggs_clock_monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static inline uint64_t ggs_clock_ticks(void) {
#if defined(__x86_64__)
    if (__builtin_expect(!ggs_clock_is_ns, 1)) return __rdtsc();
#endif
    return ggs_clock_monotonic();
}

void ggs_clock_choose(void);

// A pair (ticks, CLOCK_MONOTONIC) of one moment: the tighter of a few tries.
void ggs_clock_anchor(uint64_t * ticks, uint64_t * monotonic_ns);
