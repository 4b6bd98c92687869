// How fast the disk is that a model lies on, measured once for each device and kept in a file
// (base/system/disk-speed.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system/disk-speed.h"

struct ggs_disk;

enum { GGS_SPEED_MEMORY = 8 << 20 }; // that measuring takes

// The speed of the disk of an open model file, by the file that keeps it, or measured now with
// `memory` of GGS_SPEED_MEMORY bytes and kept. Nothing else may be read meanwhile. False, and
// zeros, where it cannot be known.
bool ggs_speed_know(struct ggs_speed * speed, struct ggs_disk * disk, int fd, uint64_t size, char * memory);

// Measures with direct reads of a file of `size` bytes, into `bytes` of memory, which say how many
// reads at a time there can be. Takes some 100 ms; a slow disk is asked for less. False if a read
// fails or the file is too small.
bool ggs_speed_measure(struct ggs_speed * speed, struct ggs_disk * disk, int fd, uint64_t size, char * memory,
                       size_t bytes);

// Bytes a second of `n` reads in order, from the file's begin, of `piece` bytes and `depth` at a
// time; 0 if one fails.
uint64_t ggs_speed_in_order(struct ggs_disk * disk, int fd, uint64_t n, char * memory, uint64_t piece, uint32_t depth);
