// An object's segments, in its file or in memory: what is at an address, and where its functions
// begin.
//
// Nothing beyond the segments is read. Files are untrusted: every offset and count is checked.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code/entry.h"

enum { GGS_VIEW_SEGMENTS = 16 };

struct ggs_view_segment {
    uint64_t        address, size;
    const uint8_t * bytes;
    bool            executable, writable;
};

struct ggs_view {
    struct ggs_view_segment segments[GGS_VIEW_SEGMENTS];
    unsigned                n;
    struct ggs_code_range   frames; // the sorted table of unwind information, which stripped objects have too
};

// Describes an object in memory by its program headers; `bias` is added to their addresses.
void ggs_view_of_memory(struct ggs_view * view, const void * headers, size_t n, uint64_t bias);
// Describes a 64-bit ELF file. False if the file is something else.
bool ggs_view_of_file(struct ggs_view * view, const uint8_t * file, uint64_t size);

// Returns the bytes at an address; NULL if the object does not contain all `size` of them.
const uint8_t * ggs_view_at(const struct ggs_view * view, uint64_t address, uint64_t size);
// True if this text is at the address.
bool ggs_view_has_text(const struct ggs_view * view, uint64_t address, const char * text);

// Returns the object's functions from its unwind information, without names, sorted by address. The
// caller frees them. NULL if there is no unwind information.
struct ggs_code_function * ggs_view_functions(const struct ggs_view * view, size_t * count);
