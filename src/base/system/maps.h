// The memory mappings of a process, as /proc/PID/maps lists them.
//
//     struct ggs_maps       maps;
//     struct ggs_maps_entry entry;
//     if (!ggs_maps_open(&maps, "self")) ... // errno says why
//     while (ggs_maps_next(&maps, &entry)) ...
//     ggs_maps_close(&maps);
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ggs_maps {
    FILE * file;
    char   line[PATH_MAX + 128];
};

struct ggs_maps_entry {
    uint64_t     start, end; // addresses
    uint64_t     offset;     // of `start` in the file
    uint64_t     device;     // as stat's st_dev
    uint64_t     inode;      // 0: no file behind it
    bool         readable, writable, executable;
    bool         shared; // writes go to the file
    const char * path;   // valid until the next call; "" for none. The kernel writes a newline in a name as \012
};

// `process` is a process id or "self".
bool ggs_maps_open(struct ggs_maps * maps, const char * process);
// False at the end. Malformed lines are skipped.
bool ggs_maps_next(struct ggs_maps * maps, struct ggs_maps_entry * entry);
void ggs_maps_close(struct ggs_maps * maps);
