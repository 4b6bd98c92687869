// How fast a disk is, measured once and kept in a file of the user's: $XDG_CACHE_HOME/ggscope/disks, or ~/.cache/ggscope/disks.
//
// A line for each disk: its numbers, bytes a second of reads one after the other and of reads here and there, the bytes that have to be on their way for
// that, and in which pieces.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_disk {
    uint64_t sequential, random; // bytes a second
    uint64_t in_flight;          // bytes that were asked for and have not come, at which it is as fast as it gets
    uint64_t piece;              // bytes of one read
};

// What is known of the device. False if nothing is, or what is there makes no sense.
bool ggs_disk_known(const char * path, uint64_t device, struct ggs_disk * disk);

// Measures with reads of this file into `memory`, for about a tenth of a second. The reader must have been started, and have nothing to do. False if the file or
// the memory is too small to tell.
bool ggs_disk_measure(int fd, uint64_t size, char * memory, size_t bytes, struct ggs_disk * disk);

// Puts it in the place of what was known. Whether that succeeds does not matter.
void ggs_disk_keep(const char * path, uint64_t device, const struct ggs_disk * disk);

// The usual path, its folders made. False if there is no home.
bool ggs_disk_path(char * path, size_t size);
