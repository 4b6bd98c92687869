// The layout of a file on its disk: the extents that the filesystem reports (FIEMAP), and their
// fragments.
//
// A fragment is a run of bytes that is contiguous in the file and on the device. A file in one
// fragment can be read without a seek. Filesystems without FIEMAP (tmpfs, most network filesystems)
// give GGS_UNSUPPORTED and a sentence.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;

struct ggs_extent {
    uint64_t logical;  // offset in the file
    uint64_t physical; // offset on the device; meaningless if `placed` is false
    uint64_t length;
    bool     placed; // false: not on the device yet, or stored inside the filesystem's metadata
};

// Extents that are contiguous on the device are joined, so each one is a fragment.
struct ggs_extents {
    struct ggs_extent * extents; // ordered by `logical`
    size_t              n_extents;
};

int  ggs_extents_init(struct ggs_extents * extents, const char * path, struct ggs_error * error);
void ggs_extents_release(struct ggs_extents * extents);

// Number of fragments that hold bytes of [offset, offset + length). 0 if all of it is a hole.
size_t ggs_extents_count(const struct ggs_extents * extents, uint64_t offset, uint64_t length);
