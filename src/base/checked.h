// Arithmetic on sizes that come from files. Every function returns true and stores the result, or
// returns false on overflow and leaves `*result` alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline bool ggs_add(uint64_t a, uint64_t b, uint64_t * result) {
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return false;
    *result = sum;
    return true;
}

static inline bool ggs_mul(uint64_t a, uint64_t b, uint64_t * result) {
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *result = product;
    return true;
}

// Rounds `value` up to a multiple of `alignment` (any value above 0).
static inline bool ggs_align(uint64_t value, uint64_t alignment, uint64_t * result) {
    uint64_t rest = value % alignment;
    return ggs_add(value, rest == 0 ? 0 : alignment - rest, result);
}

// True if [offset, offset + length) lies inside [0, size). Never overflows.
static inline bool ggs_inside(uint64_t offset, uint64_t length, uint64_t size) {
    return offset <= size && length <= size - offset;
}
