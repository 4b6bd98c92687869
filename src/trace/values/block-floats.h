// Elements of weights as floats, by type of the GGUF format, bit-equal to the engine's own
// conversion (ggml's to_float), NaN apart: of a sum of two it depends on the compiler which one
// results. The capture library compares both before it leaves a weight to sealing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_block_type {
    uint32_t block, bytes;                                      // elements and bytes of a block
    void (*to_float)(const void * from, float * to, int64_t n); // n: a multiple of `block`
};

// NULL for a type that is not known here. Points to constant data.
const struct ggs_block_type * ggs_block_type(int type);

// True if all elements have equal bits, or are NaN in both.
bool ggs_floats_alike(const float * a, const float * b, size_t n);
