// The speed of a disk, as measured and cached by `ggscope stream`.
//
// The file is $XDG_CACHE_HOME/ggscope/disk-HASH.json (else below ~/.cache), one line, by the
// identity of the device. An invalid file, or one of another device, counts as missing.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGS_SPEED_MOST_DEPTH = 8, GGS_SPEED_LEAST_PIECE = 256 << 10, GGS_SPEED_MOST_PIECE = 1 << 20 };

struct ggs_speed {
    uint64_t sequential, random; // bytes a second; 0: not known
    uint32_t depth, piece;       // queue depth and read size at which the disk reaches its full speed
    uint64_t in_place;           // random reads into memory that is not in the processor's caches; 0: not known
};

// True if reads are faster through a buffer in the caches, with a copy, than in place.
static inline bool ggs_speed_wants_buffer(const struct ggs_speed * speed) {
    return speed->in_place > 0 && speed->random / 4 * 3 > speed->in_place;
}

// Describes the device of this file. Device numbers do not suffice, because they change. `proc` and
// `sys` are "/proc" and "/sys", or test trees.
void ggs_speed_identity(int fd, const char * proc, const char * sys, char * text, size_t size);

// Returns the path of the cached file; false if there is no home directory.
bool ggs_speed_path(const char * identity, char path[PATH_MAX]);

bool ggs_speed_read(const char * path, const char * identity, struct ggs_speed * speed);
bool ggs_speed_write(const char * path, const char * identity, const struct ggs_speed * speed);
