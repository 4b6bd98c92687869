// How fast a disk is, as `ggscope stream` has measured it and kept it in a file.
//
// The file is $XDG_CACHE_HOME/ggscope/disk-HASH.json (else below ~/.cache), one line, by what the
// device says of itself. One that cannot be understood, or is another device's, is as one that is
// not there.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGS_SPEED_MOST_DEPTH = 8, GGS_SPEED_LEAST_PIECE = 256 << 10, GGS_SPEED_MOST_PIECE = 1 << 20 };

struct ggs_speed {
    uint64_t sequential, random; // bytes a second; 0: not known
    uint32_t depth, piece;       // reads at a time, and their size, at which it is as fast as it gets
};

// What tells the device of this file from others: numbers can be another's tomorrow. `proc` and
// `sys` are "/proc" and "/sys", or made-up trees.
void ggs_speed_identity(int fd, const char * proc, const char * sys, char * text, size_t size);

// Where it is kept; false if there is no home.
bool ggs_speed_path(const char * identity, char path[PATH_MAX]);

bool ggs_speed_read(const char * path, const char * identity, struct ggs_speed * speed);
bool ggs_speed_write(const char * path, const char * identity, const struct ggs_speed * speed);
