// Ticks to nanoseconds since the experiment's start.
//
// Anchors pair ticks with CLOCK_MONOTONIC. Time is linear between two anchors, and continues the
// nearest piece before the first and after the last. Anchors that go backwards are ignored, so the
// result never does; it is never negative.
//
// There are two anchors per graph run, millions in a long trace, each with the jitter of reading
// two clocks in turn. So kept anchors are at least a tenth of a second apart, and 1/512 of the time
// since the first; the first and the last always count. Kept anchors stay: the time between two of
// them does not change with later ones.
//
// A record's ticks are converted with the clock as known when it is read (ggs_clock_reach): later
// times, of a thread that left the last barrier late, use the record's piece. So a recording has
// the same times whether it is sealed while it goes on or at its end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_CLOCK_ANCHORS = 8192 }; // enough for years

struct ggs_anchor {
    uint64_t ticks, ns;
};

struct ggs_clock {
    struct ggs_anchor anchors[GGS_CLOCK_ANCHORS];
    uint32_t          n_anchors;
    struct ggs_anchor last;       // the newest of all anchors, kept or not
    bool              tick_is_ns; // matters only for a single anchor
    uint64_t          start_ns;   // CLOCK_MONOTONIC at time 0
    bool              limited;    // ggs_clock_reach was called
    uint32_t          limit;      // the last piece in use
    // The piece of the last conversion: ns = base_ns + (ticks - base_ticks) * rate / 2^40
    uint64_t from_ticks, to_ticks;
    uint64_t base_ticks, base_ns, rate;
};

void ggs_clock_init(struct ggs_clock * clock);
void ggs_clock_anchor(struct ggs_clock * clock, uint64_t ticks, uint64_t monotonic_ns);
// Call once after the last anchor and before the first conversion. Without `start_ns` (0) time
// starts at the first anchor.
void ggs_clock_finish(struct ggs_clock * clock, uint64_t start_ns);
// Limits conversions to pieces up to the one of `ticks` until the next call; it never goes back.
void    ggs_clock_reach(struct ggs_clock * clock, uint64_t ticks);
int64_t ggs_clock_slow(struct ggs_clock * clock, uint64_t ticks); // finds the piece first

static inline int64_t ggs_clock_ns(struct ggs_clock * clock, uint64_t ticks) {
    if (ticks < clock->from_ticks || ticks >= clock->to_ticks) return ggs_clock_slow(clock, ticks);
    // The rate was rounded down, so this does not exceed the next anchor.
    unsigned __int128 exact = (unsigned __int128) (ticks - clock->base_ticks) * clock->rate + (1ull << 39);
    uint64_t          ns    = clock->base_ns + (uint64_t) (exact >> 40);
    return ns < clock->start_ns ? 0 : (int64_t) ((ns - clock->start_ns) & INT64_MAX);
}

// The same for a time in CLOCK_MONOTONIC.
static inline int64_t ggs_clock_since_start(const struct ggs_clock * clock, uint64_t monotonic_ns) {
    return monotonic_ns < clock->start_ns ? 0 : (int64_t) ((monotonic_ns - clock->start_ns) & INT64_MAX);
}
