// A program that takes memory and keeps it: a MiB every so often, up to so many.
//     grow MIB MICROSECONDS
// Writes a line when it has begun and one when it has all of it, and ends when its standard input does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char ** argv) {
    if (argc != 3) return 2;
    size_t          mib = strtoul(argv[1], NULL, 10), size = (size_t) 1 << 20;
    long            pause = strtol(argv[2], NULL, 10) * 1000;
    struct timespec at;
    char            byte;
    puts("begun");
    fflush(stdout);
    clock_gettime(CLOCK_MONOTONIC, &at);
    for (size_t i = 0; i < mib; i++) {
        char * more = malloc(size);
        if (more == NULL) return 1;
        memset(more, 1, size);
        at.tv_nsec += pause;
        at.tv_sec += at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    puts("full");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {}
    return 0;
}
