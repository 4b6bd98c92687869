// Ticks: the processor's counter if it has the same rate on all cores, else CLOCK_MONOTONIC in
// nanoseconds.
//
//     x86-64     the time stamp counter, if it is invariant and the kernel trusts it
//     AArch64    the virtual counter of the generic timer, which the architecture guarantees
//
// Reading it takes half the time of clock_gettime. Its rate follows from pairs of readings
// (ggs_ticks_pair).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/system/clock.h"

// Places what the capture library reads with every op side by side: ops evict everything else from
// the nearest cache.
#define GGS_WITH_EVERY_OP __attribute__((section("ggs_with_every_op")))

extern bool ggs_ticks_are_ns; // true until ggs_ticks_choose has found a counter

// Chooses the counter. Call it once, before the first tick is read. Opens a file.
void ggs_ticks_choose(void);

// Reads the counter itself, regardless of the choice; 0 on machines without one.
static inline uint64_t ggs_ticks_counter(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return 0;
#endif
}

static inline uint64_t ggs_ticks_now(void) {
    return __builtin_expect(!ggs_ticks_are_ns, 1) ? ggs_ticks_counter() : ggs_clock_now();
}

// Reads both clocks at one moment: the tightest of a few tries.
void ggs_ticks_pair(uint64_t * ticks, uint64_t * monotonic_ns);

// UTC at a recent `monotonic_ns`. Reads both clocks and takes the tightest of a few tries, because
// a process that loses the processor between two readings has them milliseconds apart.
uint64_t ggs_ticks_utc(uint64_t monotonic_ns);

#if defined(__aarch64__)
// Ticks per second, as stated by the counter.
static inline uint64_t ggs_ticks_rate(void) {
    uint64_t rate;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(rate));
    return rate;
}
#endif

// True if `ticks` and `ns` can be the same time on this machine's counter. Its rate is known
// (AArch64), or between 1 and 16 GHz.
bool ggs_ticks_plausible(uint64_t ticks, uint64_t ns);
