// Decoding of bytes that may not be valid UTF-8.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Decodes the character at data[0..length), length > 0. Returns its length in bytes (1 to 4) and
// stores the code point. Returns 0 for invalid UTF-8, including overlong forms, surrogates and
// values above U+10FFFF.
static inline size_t ggs_utf8_decode(const char * data, size_t length, uint32_t * point) {
    const uint8_t * s = (const uint8_t *) data;
    if (s[0] < 0x80) {
        *point = s[0];
        return 1;
    }
    size_t   size;
    uint32_t value, least;
    if (s[0] >= 0xc2 && s[0] < 0xe0) {
        size = 2, value = s[0] & 0x1fu, least = 0x80;
    } else if (s[0] >= 0xe0 && s[0] < 0xf0) {
        size = 3, value = s[0] & 0x0fu, least = 0x800;
    } else if (s[0] >= 0xf0 && s[0] < 0xf5) {
        size = 4, value = s[0] & 0x07u, least = 0x10000;
    } else {
        return 0;
    }
    if (size > length) return 0;
    for (size_t i = 1; i < size; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        value = value << 6 | (s[i] & 0x3fu);
    }
    if (value < least || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
    *point = value;
    return size;
}
