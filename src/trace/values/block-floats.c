#include "trace/values/block-floats.h"

#include <math.h>
#include <string.h>

#include "trace/values/half-floats.h"

// A block is read byte by byte: it has no alignment. The operations and their order are part of the
// format's reference: products before differences, each rounded (CMakeLists.txt forbids fused
// multiply-add here).
enum { SMALL = 32, LARGE = 256 };

static float half_at(const uint8_t * from) {
    float value;
    ggs_values_from_f16(from, &value, 1);
    return value;
}

static void from_f32(const void * from, float * to, int64_t n) {
    memcpy(to, from, (size_t) n * sizeof(*to));
}

// ---- blocks of 32: a scale, perhaps a minimum, and 4, 5 or 8 bits per element ----

static void from_q4_0(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= SMALL, block += 18, to += SMALL) {
        float d = half_at(block);
        for (int i = 0; i < 16; i++) {
            to[i]      = (float) ((block[2 + i] & 15) - 8) * d;
            to[i + 16] = (float) ((block[2 + i] >> 4) - 8) * d;
        }
    }
}

static void from_q4_1(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= SMALL, block += 20, to += SMALL) {
        float d = half_at(block), m = half_at(block + 2);
        for (int i = 0; i < 16; i++) {
            to[i]      = (float) (block[4 + i] & 15) * d + m;
            to[i + 16] = (float) (block[4 + i] >> 4) * d + m;
        }
    }
}

// The fifth bit of element i.
static int fifth(const uint8_t bits[4], int i) {
    return (bits[i / 8] >> i % 8 & 1) << 4;
}

static void from_q5_0(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= SMALL, block += 22, to += SMALL) {
        float d = half_at(block);
        for (int i = 0; i < 16; i++) {
            to[i]      = (float) (((block[6 + i] & 15) | fifth(block + 2, i)) - 16) * d;
            to[i + 16] = (float) (((block[6 + i] >> 4) | fifth(block + 2, i + 16)) - 16) * d;
        }
    }
}

static void from_q5_1(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= SMALL, block += 24, to += SMALL) {
        float d = half_at(block), m = half_at(block + 2);
        for (int i = 0; i < 16; i++) {
            to[i]      = (float) ((block[8 + i] & 15) | fifth(block + 4, i)) * d + m;
            to[i + 16] = (float) ((block[8 + i] >> 4) | fifth(block + 4, i + 16)) * d + m;
        }
    }
}

static void from_q8_0(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= SMALL, block += 34, to += SMALL) {
        float d = half_at(block);
        for (int i = 0; i < SMALL; i++) to[i] = (float) (int8_t) block[2 + i] * d;
    }
}

// ---- 4 bits that select from a table ----

static const int8_t curve[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int8_t e2m1[16]  = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}; // doubled

static void select_16(const uint8_t * bits, const int8_t table[16], float d, float * to) {
    for (int i = 0; i < 16; i++) {
        to[i]      = d * (float) table[bits[i] & 15];
        to[i + 16] = d * (float) table[bits[i] >> 4];
    }
}

static void from_iq4_nl(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= SMALL, block += 18, to += SMALL)
        select_16(block + 2, curve, half_at(block), to);
}

static void from_iq4_xs(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= LARGE, block += 136) {
        float d = half_at(block);
        for (int part = 0; part < 8; part++, to += SMALL) {
            int low = block[4 + part / 2] >> 4 * (part % 2) & 15, high = block[2 + part / 4] >> 2 * (part % 4) & 3;
            select_16(block + 8 + 16 * part, curve, d * (float) ((low | high << 4) - 32), to);
        }
    }
}

// The scale is a power of two, halved because the table is doubled.
static void from_mxfp4(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= SMALL, block += 17, to += SMALL) {
        uint32_t bits = block[0] < 2 ? UINT32_C(0x00200000) << block[0] : (uint32_t) (block[0] - 1) << 23;
        float    d;
        memcpy(&d, &bits, sizeof(d));
        select_16(block + 1, e2m1, d, to);
    }
}

// ---- blocks of 256, with scales of their parts ----

static void from_q2_k(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= LARGE, block += 84) {
        float d = half_at(block + 80), m = half_at(block + 82);
        for (int part = 0; part < 16; part++, to += 16) {
            const uint8_t * bits  = block + 16 + part / 8 * 32 + part % 2 * 16;
            float           scale = d * (float) (block[part] & 15), least = m * (float) (block[part] >> 4);
            for (int i = 0; i < 16; i++) to[i] = scale * (float) (bits[i] >> part % 8 / 2 * 2 & 3) - least;
        }
    }
}

// Six bits of scale: four of them in a nibble, two further on.
static int scale_q3(const uint8_t scales[12], int part) {
    int low = part < 8 ? scales[part] & 15 : scales[part - 8] >> 4;
    return (low | (scales[8 + part % 4] >> 2 * (part / 4) & 3) << 4) - 32;
}

static void from_q3_k(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= LARGE, block += 110) {
        float d = half_at(block + 108);
        for (int part = 0; part < 16; part++, to += 16) {
            const uint8_t * bits  = block + 32 + part / 8 * 32 + part % 2 * 16;
            const uint8_t * high  = block + part % 2 * 16;
            float           scale = d * (float) scale_q3(block + 96, part);
            for (int i = 0; i < 16; i++)
                to[i] = scale * (float) ((bits[i] >> part % 8 / 2 * 2 & 3) - (high[i] >> part / 2 & 1 ? 0 : 4));
        }
    }
}

// Scale and minimum of a part, six bits each.
static void scale_q4(const uint8_t scales[12], int part, int * scale, int * least) {
    if (part < 4) {
        *scale = scales[part] & 63, *least = scales[part + 4] & 63;
    } else {
        *scale = (scales[part + 4] & 15) | scales[part - 4] >> 6 << 4;
        *least = scales[part + 4] >> 4 | scales[part] >> 6 << 4;
    }
}

static void from_q4_k(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= LARGE, block += 144) {
        float d = half_at(block), m = half_at(block + 2);
        for (int part = 0; part < 8; part++, to += SMALL) {
            const uint8_t * bits = block + 16 + part / 2 * 32;
            int             scale, least, shift = part % 2 * 4;
            scale_q4(block + 4, part, &scale, &least);
            float by = d * (float) scale, minus = m * (float) least;
            for (int i = 0; i < SMALL; i++) to[i] = by * (float) (bits[i] >> shift & 15) - minus;
        }
    }
}

static void from_q5_k(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= LARGE, block += 176) {
        float d = half_at(block), m = half_at(block + 2);
        for (int part = 0; part < 8; part++, to += SMALL) {
            const uint8_t *high = block + 16, *bits = block + 48 + part / 2 * 32;
            int            scale, least, shift = part % 2 * 4;
            scale_q4(block + 4, part, &scale, &least);
            float by = d * (float) scale, minus = m * (float) least;
            for (int i = 0; i < SMALL; i++)
                to[i] = by * (float) ((bits[i] >> shift & 15) + (high[i] >> part & 1) * 16) - minus;
        }
    }
}

static void from_q6_k(const void * from, float * to, int64_t n) {
    for (const uint8_t * block = from; n > 0; n -= LARGE, block += 210) {
        float d = half_at(block + 208);
        for (int part = 0; part < 8; part++, to += SMALL) {
            const uint8_t * bits  = block + part / 4 * 64 + part % 2 * 32;
            const uint8_t * high  = block + 128 + part / 4 * 32;
            const uint8_t * scale = block + 192 + part * 2;
            int             shift = part % 4 / 2 * 4, up = part % 4 * 2;
            for (int i = 0; i < SMALL; i++) {
                int q = (bits[i] >> shift & 15) | (high[i] >> up & 3) << 4;
                to[i] = d * (float) (int8_t) scale[i / 16] * (float) (q - 32);
            }
        }
    }
}

static const struct ggs_block_type types[] = {
    [0] = {1, 4, from_f32},       [1] = {1, 2, ggs_values_from_f16}, [2] = {32, 18, from_q4_0},
    [3] = {32, 20, from_q4_1},    [6] = {32, 22, from_q5_0},         [7] = {32, 24, from_q5_1},
    [8] = {32, 34, from_q8_0},    [10] = {256, 84, from_q2_k},       [11] = {256, 110, from_q3_k},
    [12] = {256, 144, from_q4_k}, [13] = {256, 176, from_q5_k},      [14] = {256, 210, from_q6_k},
    [20] = {32, 18, from_iq4_nl}, [23] = {256, 136, from_iq4_xs},    [30] = {1, 2, ggs_values_from_bf16},
    [39] = {32, 17, from_mxfp4},
};

const struct ggs_block_type * ggs_block_type(int type) {
    if (type < 0 || (size_t) type >= sizeof(types) / sizeof(types[0])) return NULL;
    return types[type].block == 0 ? NULL : &types[type];
}

bool ggs_floats_alike(const float * a, const float * b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof(a[i])) != 0 && !(isnan(a[i]) && isnan(b[i]))) return false;
    return true;
}
