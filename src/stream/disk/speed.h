// The speed of a model's disk, measured once per device and cached in a file
// (base/system/disk-speed.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system/disk-speed.h"

struct ggs_disk;

enum { GGS_SPEED_MEMORY = 8 << 20 }; // used for measuring

// Returns the speed of an open model file's disk: cached, or measured with `memory` of
// GGS_SPEED_MEMORY bytes and then cached. Nothing else may be read meanwhile. False, and zeros, if
// unknown.
bool ggs_speed_know(struct ggs_speed * speed, struct ggs_disk * disk, int fd, uint64_t size, char * memory);

// Measures with direct reads of a file of `size` bytes into `bytes` of memory, which limit the
// concurrent reads. Takes about 100 ms; a slow disk reads less. False if a read fails or the file
// is too small.
bool ggs_speed_measure(struct ggs_speed * speed, struct ggs_disk * disk, int fd, uint64_t size, char * memory,
                       size_t bytes);

// Bytes per second of `n` sequential reads from the start of the file, of `piece` bytes and `depth`
// at a time; 0 if one fails.
uint64_t ggs_speed_in_order(struct ggs_disk * disk, int fd, uint64_t n, char * memory, uint64_t piece, uint32_t depth);
