// How fast the disk is that a file lies on, as ggscope stream measures it.
//     bench-disk FILE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "stream/disk.h"
#include "stream/memory.h"
#include "stream/reader.h"
#include "stream/stream.h"

#include <time.h>
uint64_t ggs_stream_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

int main(int argc, char ** argv) {
    enum { BYTES = 64 << 20 };
    struct ggs_disk disk;
    struct stat     status;
    int             fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &status) != 0) {
        fputs("Usage: bench-disk FILE\n", stderr);
        return 2;
    }
    char * memory = ggs_memory_take(BYTES);
    if (memory == NULL || ggs_reader_start(NULL) == GGS_READER_NONE) return 1;
    if (!ggs_disk_measure(fd, (uint64_t) status.st_size, memory, BYTES, &disk)) {
        fputs("bench-disk: the file is too small, or cannot be read\n", stderr);
        return 1;
    }
    printf("{\"sequential\":%llu,\"random\":%llu,\"in_flight\":%llu,\"piece\":%llu}\n",
           (unsigned long long) disk.sequential, (unsigned long long) disk.random, (unsigned long long) disk.in_flight,
           (unsigned long long) disk.piece);
    return 0;
}
