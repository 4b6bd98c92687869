// What the two programs on ggml's own API share: a checksum of results, and numbers that look like
// weights.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml.h"

__attribute__((noreturn)) static inline void die(const char * what) {
    fprintf(stderr, "program: %s failed\n", what);
    exit(1);
}

static inline uint64_t hash(const void * data, size_t size) {
    uint64_t        h     = 14695981039346656037u;
    const uint8_t * bytes = data;
    for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 1099511628211u;
    return h;
}

// The same values for the same name in every run; small, so that nothing overflows.
static inline void fill(const char * name, enum ggml_type type, void * data, size_t elements) {
    uint32_t state = (uint32_t) hash(name, strlen(name)) | 1;
    for (size_t i = 0; i < elements; i++) {
        state       = state * 1664525u + 1013904223u;
        float value = ((float) (state >> 8) / 8388608.0f - 1.0f) * 0.08f;
        if (type == GGML_TYPE_F16)
            ((ggml_fp16_t *) data)[i] = ggml_fp32_to_fp16(value);
        else
            ((float *) data)[i] = value;
    }
}
