// Names and numbers as a GGUF file has them: bytes with a length, integers at any address.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_slice {
    const char * data; // not NUL-terminated
    size_t       length;
    uint64_t     tag; // for the owner
};

// Sorts `slices` by contents (ties by tag) and returns the first of two neighbours that are equal,
// or NULL. O(n log n) whatever the contents are, which a hash table cannot promise for a hostile
// file.
const struct ggs_slice * ggs_find_duplicate(struct ggs_slice * slices, size_t count);

// A name fit for a message or a table: control characters and bytes that are not UTF-8 become "?",
// and what is longer than the buffer ends in "...". Returns `buffer`.
enum { GGS_PRINTABLE_LENGTH = 100 };
char * ggs_printable(char * buffer, size_t size, const char * data, size_t length);

// `width` (1 to 8) bytes as an unsigned integer.
static inline uint64_t ggs_little_endian(const uint8_t * bytes, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value |= (uint64_t) bytes[i] << (8 * i);
    return value;
}
