#include "base/system/ticks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

GGS_WITH_EVERY_OP bool ggs_ticks_are_ns = true;

#if defined(__x86_64__)
// The kernel distrusts a time stamp counter that differs between cores, even if the processor calls
// it invariant.
static bool kernel_trusts_tsc(void) {
    char text[64] = "";
    int  fd       = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    return n > 0 && strstr(text, "tsc") != NULL;
}
#endif

void ggs_ticks_choose(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    bool     invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
    ggs_ticks_are_ns   = !(invariant && kernel_trusts_tsc());
#elif defined(__aarch64__)
    ggs_ticks_are_ns = false;
#endif
}

void ggs_ticks_pair(uint64_t * ticks, uint64_t * monotonic_ns) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = ggs_ticks_now();
        uint64_t now    = ggs_clock_now();
        uint64_t after  = ggs_ticks_now();
        if (after - before >= best) continue;
        best          = after - before;
        *ticks        = ggs_ticks_are_ns ? now : before + best / 2;
        *monotonic_ns = now;
    }
}

uint64_t ggs_ticks_utc(uint64_t monotonic_ns) {
    uint64_t best = UINT64_MAX, apart = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t before = ggs_clock_now();
        uint64_t utc    = ggs_clock_read(CLOCK_REALTIME);
        uint64_t took   = ggs_clock_now() - before;
        if (took >= best) continue;
        best  = took;
        apart = utc - (before + took / 2);
    }
    return monotonic_ns + apart;
}

bool ggs_ticks_plausible(uint64_t ticks, uint64_t ns) {
#if defined(__x86_64__)
    return ticks / 16 < ns && ns < ticks;
#elif defined(__aarch64__)
    double expected  = (double) ns * (double) ggs_ticks_rate() / 1e9;
    return (double) ticks > 0.9 * expected && (double) ticks < 1.1 * expected;
#else
    (void) ticks, (void) ns;
    return false;
#endif
}
