// The speed of a model's disk, measured once per device and cached in a file
// (base/system/disk-speed.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system/disk-speed.h"

struct ggs_disk;

// Memory used for measuring: that which stays in the processor's caches, and that which does not.
enum { GGS_SPEED_MEMORY = 8 << 20, GGS_SPEED_PLACES = 512 << 20 };

// What a measurement works with. Nothing else may read from the disk meanwhile.
struct ggs_speed_bench {
    struct ggs_disk * disk;
    uint64_t (*clock)(void); // nanoseconds
    int      fd;             // a model file
    uint64_t size;           // of the file
    char *   memory;
    size_t   bytes; // of memory: GGS_SPEED_MEMORY or GGS_SPEED_PLACES
};

// Returns the speed of the file's disk: cached, or measured and then cached. False, and zeros, if
// unknown.
bool ggs_speed_know(struct ggs_speed * speed, const struct ggs_speed_bench * bench);

// Measures with direct reads; the memory limits the concurrent ones. Takes about 100 ms, and 200
// more if the memory suffices to measure reads in place; a slow disk reads less. False if a read
// fails or the file is too small.
bool ggs_speed_measure(struct ggs_speed * speed, const struct ggs_speed_bench * bench);

// Bytes per second of `n` sequential reads from the start of the file, of `piece` bytes and `depth`
// at a time; 0 if one fails.
uint64_t ggs_speed_in_order(const struct ggs_speed_bench * bench, uint64_t n, uint64_t piece, uint32_t depth);
