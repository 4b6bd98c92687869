// How fast the disk is that a file lies on: reads of 1 MiB past the page cache, several at a time.
//     bench-disk FILE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "stream/memory.h"
#include "stream/reader.h"

enum { MIB = 1 << 20, LEAST_FILE = 64 * MIB, DEPTHS = 5, BYTES = 64 * MIB };

static const uint64_t LONG = 15000000; // ns: of one measurement

struct disk {
    uint64_t sequential, random; // bytes a second
    uint64_t in_flight;          // bytes that were asked for and have not come, at which it is as fast as it gets
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

// Bytes a second of reads of `piece` bytes, `depth` of them at a time; 0 if one fails.
static uint64_t rate(int fd, uint64_t size, char * memory, uint64_t piece, uint32_t depth, bool in_order) {
    static struct ggs_arrival arrivals[1 << DEPTHS];
    static uint64_t           seed = 88172645463325252u;
    uint64_t                  n = size / piece, next = 0, read = 0, begin = now_ns(), ns;
    for (uint32_t i = 0;; i = (i + 1) % depth) {
        ggs_reader_wait(&arrivals[i], NULL);
        if (arrivals[i].failed) return 0;
        ns = now_ns() - begin;
        if (ns >= LONG) break;
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint64_t at = (in_order ? next++ : seed) % n;
        arrivals[i] = (struct ggs_arrival){0, false};
        ggs_reader_ask(&arrivals[i], fd, at * piece, piece, piece, memory + i * piece, false);
        ggs_reader_submit();
        read += piece;
    }
    ggs_reader_drain();
    ns = now_ns() - begin;
    return (uint64_t) ((double) read * 1e9 / (double) ns);
}

static bool measure(int fd, uint64_t size, char * memory, size_t bytes, struct disk * disk) {
    if (size < LEAST_FILE) return false;
    uint64_t rates[DEPTHS + 1] = {0}, best = 0;
    uint32_t deepest = 0;
    memset(memory, 0, bytes); // the kernel's time for giving it is not the disk's
    for (uint32_t i = 1; i <= DEPTHS && (uint64_t) GGS_READ_PIECE << i <= bytes; i++) {
        rates[i] = rate(fd, size, memory, GGS_READ_PIECE, 1u << i, false);
        if (rates[i] == 0) return false;
        deepest = i;
        if (rates[i] > best) best = rates[i];
    }
    uint32_t enough = 1;
    while (enough < deepest && (double) rates[enough] < 0.9 * (double) best) enough++;
    disk->random     = rates[enough];
    disk->in_flight  = (uint64_t) GGS_READ_PIECE << enough;
    disk->sequential = rate(fd, size, memory, GGS_READ_PIECE, 1u << enough, true);
    return disk->sequential > 0;
}

int main(int argc, char ** argv) {
    struct disk disk;
    struct stat status;
    int         fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &status) != 0) {
        fputs("Usage: bench-disk FILE\n", stderr);
        return 2;
    }
    char * memory = ggs_memory_take(BYTES);
    if (memory == NULL || ggs_reader_start("uring") == GGS_READER_NONE) return 1;
    if (!measure(fd, (uint64_t) status.st_size, memory, BYTES, &disk)) {
        fputs("bench-disk: the file is too small, or cannot be read\n", stderr);
        return 1;
    }
    printf("{\"sequential\":%llu,\"random\":%llu,\"in_flight\":%llu}\n", (unsigned long long) disk.sequential,
           (unsigned long long) disk.random, (unsigned long long) disk.in_flight);
    return 0;
}
