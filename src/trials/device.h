// Settings of the machine that a trial wants and that root alone may change: readahead of the
// device that holds a model, and an empty page cache.
//
// Readahead is the whole device's: all programs see it. What it was is noted in /run/ggscope before
// it is changed, in a file that its writer keeps locked. A note without a lock is that of a process
// that was killed: ggs_device_recover() restores it.
#pragma once

#include <limits.h>
#include <stdint.h>

struct ggs_error;

enum { GGS_DEVICES = 8 };

struct ggs_device_setting {
    char     setting[128]; // file in /sys
    char     note[128];    // file in /run/ggscope
    uint64_t before_kib;
    int      fd; // of the note, locked
};

// A zeroed struct has changed nothing.
struct ggs_device_settings {
    struct ggs_device_setting list[GGS_DEVICES];
    unsigned                  n;
};

// Restores what processes that were killed left behind. Returns how many devices, or negative.
int ggs_device_recover(struct ggs_error * error);

// Sets readahead of the device of a file; -1: as it was before this process changed it.
int ggs_device_readahead(struct ggs_device_settings * devices, const char * file, int64_t bytes,
                         struct ggs_error * error);
// Restores all of them.
void ggs_device_restore(struct ggs_device_settings * devices);

// Drops clean pages, dentries and inodes of all files.
int ggs_device_drop_caches(struct ggs_error * error);
