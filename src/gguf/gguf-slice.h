// Names and numbers as stored in a GGUF file: bytes with a length, unaligned integers.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_slice {
    const char * data; // not NUL-terminated
    size_t       length;
    uint64_t     tag; // for the owner
};

// Sorts `slices` by contents (ties by tag) and returns the first one that equals its neighbour, or
// NULL. This is O(n log n) for any contents; a hash table is not, if the file is hostile.
const struct ggs_slice * ggs_find_duplicate(struct ggs_slice * slices, size_t count);

// Copies a name for a message or a table. Control characters and invalid UTF-8 become "?", and a
// name longer than the buffer ends in "...". Returns `buffer`.
enum { GGS_PRINTABLE_LENGTH = 100 };
char * ggs_printable(char * buffer, size_t size, const char * data, size_t length);

// Reads `width` (1 to 8) bytes as an unsigned integer.
static inline uint64_t ggs_little_endian(const uint8_t * bytes, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value |= (uint64_t) bytes[i] << (8 * i);
    return value;
}
