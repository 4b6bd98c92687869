#include "trace/values/half-floats.h"

#include <stdbool.h>
#include <string.h>

// All bits if `is`, else none.
static inline uint32_t mask(bool is) {
    return 0u - (uint32_t) is;
}

// Masks instead of branches, so that compilers make vectors of the loop.
void ggs_values_from_f16(const void * from, float * restrict to, int64_t n) {
    enum { EXPONENT = 0x7c00, FRACTION = 0x3ff, QUIET = 1 << 22, BIAS = 127 - 15 };
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, (const char *) from + 2 * i, sizeof(half));
        uint32_t magnitude = half & 0x7fffu, tiny, bits;
        float    small     = (float) (int32_t) magnitude * 0x1p-24f;
        memcpy(&tiny, &small, sizeof(tiny));
        bits = (tiny & mask(magnitude <= FRACTION)) |
               (((magnitude << 13) + ((uint32_t) BIAS << 23)) & mask(magnitude > FRACTION));
        bits = (bits & mask(magnitude < EXPONENT)) | ((magnitude << 13 | 0x7f800000u) & mask(magnitude >= EXPONENT));
        bits |= (QUIET & mask(magnitude > EXPONENT)) | (half & 0x8000u) << 16;
        memcpy(&to[i], &bits, sizeof(bits));
    }
}

void ggs_values_from_bf16(const void * from, float * to, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, (const char *) from + 2 * i, sizeof(half));
        uint32_t bits = (uint32_t) half << 16;
        memcpy(&to[i], &bits, sizeof(bits));
    }
}
