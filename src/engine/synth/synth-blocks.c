#include "engine/synth/synth-blocks.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "ggml.h"

enum scale {
    HALF,           // a 16-bit float with random sign, so that values average to zero over many blocks
    HALF_AND_OTHER, // two floats: the second, at `other`, is `ratio` times the first and centres the values around zero
    SPREAD,         // a 16-bit float in the upper nibbles of four 16-bit words
    EXPONENT,       // a power of two in a byte; 127 means 1
    FOUR_SMALL,     // four bytes, each a float with 4 bits of exponent and 3 of mantissa
};

// The place of a block's scale, and the bytes that are not values and must not be random: (byte &
// mask) | set.
static const struct layout {
    int        type;
    enum scale kind;
    unsigned   at, other;
    double     ratio;
    struct {
        unsigned at, n, mask, set;
    } fixed[2];
    double unit; // standard deviation of the values at scale 1
} layouts[] = {
    {GGML_TYPE_Q4_0, HALF, 0, 0, 0, {{0}}, 4.64},
    {GGML_TYPE_Q4_1, HALF_AND_OTHER, 0, 2, -7.5, {{0}}, 4.61},
    {GGML_TYPE_Q5_0, HALF, 0, 0, 0, {{0}}, 9.25},
    {GGML_TYPE_Q5_1, HALF_AND_OTHER, 0, 2, -15.5, {{0}}, 9.23},
    {GGML_TYPE_Q8_0, HALF, 0, 0, 0, {{0}}, 73.9},
    // Sub-blocks have their own scales and minima, all equal here.
    {GGML_TYPE_Q2_K, HALF_AND_OTHER, 80, 82, 1.5, {{0, 16, 0, 0x88}}, 8.94},
    {GGML_TYPE_Q3_K, HALF, 108, 0, 0, {{0}}, 43.3},
    {GGML_TYPE_Q4_K, HALF_AND_OTHER, 0, 2, 7.5, {{4, 8, 0, 0xa0}, {12, 4, 0, 0}}, 147.5},
    {GGML_TYPE_Q5_K, HALF_AND_OTHER, 0, 2, 15.5, {{4, 8, 0, 0xa0}, {12, 4, 0, 0}}, 295.5},
    {GGML_TYPE_Q6_K, HALF, 208, 0, 0, {{192, 16, 0x07, 0x08}}, 216.5},
    {GGML_TYPE_IQ1_S, HALF, 0, 0, 0, {{0}}, 7.17},
    {GGML_TYPE_IQ1_M, SPREAD, 48, 0, 0, {{0}}, 7.2},
    {GGML_TYPE_IQ2_XXS, HALF, 0, 0, 0, {{0}}, 53.4},
    {GGML_TYPE_IQ2_XS, HALF, 0, 0, 0, {{0}}, 55.7},
    {GGML_TYPE_IQ2_S, HALF, 0, 0, 0, {{0}}, 56.5},
    {GGML_TYPE_IQ3_XXS, HALF, 0, 0, 0, {{0}}, 142.0},
    {GGML_TYPE_IQ3_S, HALF, 0, 0, 0, {{0}}, 140.3},
    {GGML_TYPE_IQ4_NL, HALF, 0, 0, 0, {{0}}, 67.4},
    {GGML_TYPE_IQ4_XS, HALF, 0, 0, 0, {{0}}, 1242.0},
    {GGML_TYPE_TQ1_0, HALF, 52, 0, 0, {{0}}, 0.817},
    {GGML_TYPE_TQ2_0, HALF, 64, 0, 0, {{0}}, 1.224},
    {GGML_TYPE_MXFP4, EXPONENT, 0, 0, 0, {{0}}, 2.929},
    {GGML_TYPE_NVFP4, FOUR_SMALL, 0, 0, 0, {{0}}, 2.924},
    {GGML_TYPE_Q1_0, HALF, 0, 0, 0, {{0}}, 1.0},
    {GGML_TYPE_Q2_0, HALF, 0, 0, 0, {{0}}, 1.224},
};

static const struct layout * find(int type) {
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].type == type) return &layouts[i];
    return NULL;
}

bool ggs_synth_block_supported(int type) {
    return find(type) != NULL;
}

static void put_half(uint8_t * at, double value) {
    uint16_t half = ggml_fp32_to_fp16((float) value);
    memcpy(at, &half, sizeof(half));
}

static void put_spread(uint8_t * words, double value) {
    uint16_t half = ggml_fp32_to_fp16((float) value);
    for (unsigned i = 0; i < 4; i++)
        words[2 * i + 1] = (uint8_t) ((words[2 * i + 1] & 0x0f) | (half >> 4 * i & 15) << 4);
}

// Chooses between the nearest powers of two so that the squares are right on average; `random`
// decides.
static uint8_t exponent(double value, uint8_t random) {
    int    power;
    double below = frexp(value, &power) * 2; // value = below * 2^(power - 1), from 1 to 2
    int    code  = 126 + power + (random < (below * below - 1) / 3 * 256);
    return (uint8_t) (code < 1 ? 1 : code > 254 ? 254 : code);
}

static uint8_t small(double value) {
    uint8_t best = 1;
    double  off  = INFINITY;
    for (unsigned code = 1; code < 127; code++) {
        unsigned power = code >> 3, mantissa = code & 7;
        double   is = power == 0 ? ldexp(mantissa, -9) : ldexp(8 + mantissa, (int) power - 10);
        if (fabs(is - value) >= off) continue;
        off  = fabs(is - value);
        best = (uint8_t) code;
    }
    return best;
}

bool ggs_synth_block(int type, uint8_t * block, double deviation) {
    const struct layout * layout = find(type);
    if (layout == NULL) return false;
    double    value = deviation / layout->unit;
    uint8_t * at    = block + layout->at;
    for (unsigned f = 0; f < 2; f++)
        for (unsigned i = 0; i < layout->fixed[f].n; i++) {
            uint8_t * byte = block + layout->fixed[f].at + i;
            *byte          = (uint8_t) ((*byte & layout->fixed[f].mask) | layout->fixed[f].set);
        }
    switch (layout->kind) {
        case HALF:
            put_half(at, (at[0] & 1) != 0 ? -value : value);
            break;
        case HALF_AND_OTHER:
            put_half(at, value);
            put_half(block + layout->other, value * layout->ratio);
            break;
        case SPREAD:
            put_spread(at, value);
            break;
        case EXPONENT:
            at[0] = exponent(value, at[0]);
            break;
        case FOUR_SMALL:
            memset(at, small(value), 4);
            break;
    }
    return true;
}
