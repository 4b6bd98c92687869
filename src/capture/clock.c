#include "capture/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool ggs_clock_is_ns = true;

// The kernel distrusts a time stamp counter that is not the same on all cores, whatever the processor says of it.
static bool kernel_trusts_tsc(void) {
    char text[32] = "";
    int  fd       = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    return n > 0 && strstr(text, "tsc") != NULL;
}

void ggs_clock_choose(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    bool     invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
    ggs_clock_is_ns    = !(invariant && kernel_trusts_tsc());
#endif
}

void ggs_clock_anchor(uint64_t * ticks, uint64_t * monotonic_ns) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = ggs_clock_ticks();
        uint64_t now    = ggs_clock_monotonic();
        uint64_t after  = ggs_clock_ticks();
        if (after - before >= best) continue;
        best          = after - before;
        *ticks        = ggs_clock_is_ns ? now : before + best / 2;
        *monotonic_ns = now;
    }
}
