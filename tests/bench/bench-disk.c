// How fast the disk is that a file lies on, for a while: the file from its begin to its end, or a second of it, past the page cache, in reads of 1 MiB, eight at a time.
//     bench-disk FILE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "stream/memory/memory.h"
#include "stream/disk/reader.h"

enum { WINDOW = 32 };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

int main(int argc, char ** argv) {
    static struct ggs_arrival arrivals[WINDOW];
    struct stat               status;
    int                       fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &status) != 0) {
        fputs("Usage: bench-disk FILE\n", stderr);
        return 2;
    }
    size_t bytes  = (size_t) WINDOW * GGS_READ_PIECE;
    char * memory = ggs_memory_take(bytes, bytes);
    if (memory == NULL || ggs_reader_start("threads") == GGS_READER_NONE) return 1;
    ggs_memory_touch(memory, bytes);
    uint64_t n = (uint64_t) status.st_size / GGS_READ_PIECE, i = 0;
    double   begin = seconds();
    for (; i < n && seconds() - begin < 1; i++) {
        struct ggs_arrival * arrival = &arrivals[i % WINDOW];
        ggs_reader_wait(arrival, NULL);
        ggs_reader_ask(arrival, fd, i * GGS_READ_PIECE, GGS_READ_PIECE, GGS_READ_PIECE,
                       memory + i % WINDOW * GGS_READ_PIECE, false);
        ggs_reader_submit();
    }
    ggs_reader_drain();
    double took   = seconds() - begin;
    bool   failed = i == 0;
    for (uint64_t k = 0; k < WINDOW; k++) failed |= arrivals[k].failed;
    if (failed) {
        fputs("bench-disk: the file is too small, or cannot be read\n", stderr);
        return 1;
    }
    printf("{\"rate\":%.0f}\n", (double) (i * GGS_READ_PIECE) / took);
    return 0;
}
