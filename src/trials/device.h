// Settings of the machine for a trial that only root can change: readahead of the model's device,
// and an empty page cache.
//
// Readahead applies to the whole device and thus to all programs. Its old value is saved in
// /run/ggscope before it changes, in a file that its writer keeps locked. A file without a lock
// belongs to a killed process: ggs_device_recover() restores its value.
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

// Restores the settings of killed processes. Returns the number of devices, or a negative status.
int ggs_device_recover(struct ggs_error * error);

// Sets readahead of the device of a file; -1: the value before this process changed it.
int ggs_device_readahead(struct ggs_device_settings * devices, const char * file, int64_t bytes,
                         struct ggs_error * error);
// Restores all of them.
void ggs_device_restore(struct ggs_device_settings * devices);

// Drops clean pages, dentries and inodes of all files.
int ggs_device_drop_caches(struct ggs_error * error);
