// Allocates and keeps memory: one MiB per this many microseconds of another process's CPU time, up
// to a total.
//     grow MIB MICROSECONDS PROCESS
// Measured by the other's CPU time, so that nothing is allocated while that process cannot react.
// Writes a line at the start and one at the end, and exits when its standard input is closed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// CPU time of the process in nanoseconds; UINT64_MAX when it has ended.
static uint64_t computed(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return UINT64_MAX;
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

int main(int argc, char ** argv) {
    if (argc != 4) return 2;
    size_t                mib = strtoul(argv[1], NULL, 10), size = (size_t) 1 << 20;
    uint64_t              pause     = strtoul(argv[2], NULL, 10) * 1000;
    const struct timespec half_a_ms = {0, 500000};
    clockid_t             clock;
    char                  byte;
    if (clock_getcpuclockid((pid_t) strtol(argv[3], NULL, 10), &clock) != 0) return 1;
    puts("begun");
    fflush(stdout);
    for (size_t i = 0; i < mib; i++) {
        char *   more = malloc(size);
        uint64_t at   = computed(clock);
        if (more == NULL || at == UINT64_MAX) return 1;
        memset(more, 1, size);
        while (computed(clock) < at + pause) nanosleep(&half_a_ms, NULL);
    }
    puts("full");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {}
    return 0;
}
