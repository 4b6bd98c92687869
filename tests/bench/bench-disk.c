// How fast the disk is that a file lies on: reads past the page cache, several at a time.
//     bench-disk FILE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "stream/disk.h"
#include "stream/memory.h"
#include "stream/reader.h"

enum { BYTES = 64 << 20 };

int main(int argc, char ** argv) {
    struct ggs_disk disk;
    struct stat     status;
    int             fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &status) != 0) {
        fputs("Usage: bench-disk FILE\n", stderr);
        return 2;
    }
    char * memory = ggs_memory_take(BYTES, BYTES);
    if (memory == NULL || ggs_reader_start("uring") == GGS_READER_NONE) return 1;
    if (!ggs_disk_measure(fd, (uint64_t) status.st_size, memory, BYTES, &disk)) {
        fputs("bench-disk: the file is too small, or cannot be read\n", stderr);
        return 1;
    }
    printf("{\"sequential\":%llu,\"random\":%llu,\"in_flight\":%llu}\n", (unsigned long long) disk.sequential,
           (unsigned long long) disk.random, (unsigned long long) disk.depth * disk.piece);
    return 0;
}
