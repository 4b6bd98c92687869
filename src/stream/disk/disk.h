// How fast the disk is that a model lies on, measured once for each device and kept in a file.
//
// The file is $XDG_CACHE_HOME/ggscope/disk-HASH.json (else below ~/.cache), one line, by what the device says of itself. One that cannot be understood, or is
// another device's, is as one that is not there.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGS_DISK_MEMORY = 8 << 20 }; // that measuring takes

struct ggs_disk {
    uint64_t sequential, random; // bytes a second; 0: not known
    uint32_t depth, piece;       // reads at a time, and their size, at which it is as fast as it gets
};

// The disk of an open model file, by the file that keeps it, or measured now and kept. False, and zeros, where it cannot be known.
bool ggs_disk_know(int fd, uint64_t size, struct ggs_disk * disk);

// What that is made of. Measures with direct reads of a file of `size` bytes, into `bytes` of memory, which say how many reads at a time there can be. Reading must have been started, and
// nothing may be in flight. Takes some 100 ms; a slow disk is asked for less. False where a read fails or the file is too small.
bool ggs_disk_measure(int fd, uint64_t size, char * memory, size_t bytes, struct ggs_disk * disk);

// What tells the device of this file from others: numbers can be another's tomorrow. `proc` and `sys` are "/proc" and "/sys", or made-up trees.
void ggs_disk_identity(int fd, const char * proc, const char * sys, char * text, size_t size);

// Where it is kept; false if there is no home.
bool ggs_disk_path(const char * identity, char path[PATH_MAX]);

bool ggs_disk_read(const char * path, const char * identity, struct ggs_disk * disk);
bool ggs_disk_write(const char * path, const char * identity, const struct ggs_disk * disk);
