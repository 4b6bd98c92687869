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

// Of an object in memory: its program headers, and how far it lies from the addresses in them.
void ggs_view_of_memory(struct ggs_view * view, const void * headers, size_t n, uint64_t bias);
// Of a 64-bit ELF file. False if it is none.
bool ggs_view_of_file(struct ggs_view * view, const uint8_t * file, uint64_t size);

// The bytes at an address; NULL if not all `size` of them are there.
const uint8_t * ggs_view_at(const struct ggs_view * view, uint64_t address, uint64_t size);
// True if a text lies at the address.
bool ggs_view_has_text(const struct ggs_view * view, uint64_t address, const char * text);

// The object's functions by its unwind information, without names, sorted by address; the caller
// frees them. NULL if there is none.
struct ggs_code_function * ggs_view_functions(const struct ggs_view * view, size_t * count);
