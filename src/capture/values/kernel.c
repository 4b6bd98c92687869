#include "capture/values/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

// The lanes of the loop are arrays, so that the order of additions does not depend on the compiler.
// CMakeLists.txt forbids fused multiply-add here, which would round otherwise.
enum { LANES = 16, STEP = 64, HASHES = 32, PERIOD = 1024 };

static uint32_t signs[PERIOD] __attribute__((aligned(64))); // bit 31; a block has one more

static inline uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint32_t block_sign(uint64_t at) {
    return (uint32_t) (mix(at / PERIOD + 77777) >> 13 & 1) << 31;
}

static inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

// Adds elements one by one: the rest of a piece, and pieces with elements that are not finite.
static void add_each(struct ggs_values_sum * sum, const float * values, uint32_t n, uint64_t at, uint32_t offset) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits  = bits_of(values[i]);
        uint64_t index = at + offset + i;
        sum->hash += mix((uint64_t) bits << 32 ^ index);
        if ((bits & 0x7f800000) == 0x7f800000) {
            if ((bits & 0x7fffff) != 0)
                sum->nan++;
            else
                sum->inf++;
            continue;
        }
        float value = values[i];
        if (value < sum->min) sum->min = value;
        if (value > sum->max) sum->max = value;
        sum->sum += (double) value;
        sum->squares += (double) value * (double) value;
        sum->sketch[index % GGS_VALUE_SKETCH] += float_of(bits ^ signs[index % PERIOD] ^ block_sign(index));
    }
}

struct lanes {
    float    min[LANES], max[LANES], sum[LANES], squares[LANES], sketch[STEP];
    uint32_t hash[HASHES];
};

// `n` is a multiple of STEP.
static inline __attribute__((always_inline)) void add_lanes(struct lanes * out, const float * values, uint32_t n,
                                                            uint64_t at) {
    struct lanes a = {0};
    for (unsigned l = 0; l < LANES; l++) a.min[l] = FLT_MAX, a.max[l] = -FLT_MAX;
    for (unsigned l = 0; l < HASHES; l++) a.hash[l] = (uint32_t) at;
    for (uint32_t i = 0; i < n; i += STEP) {
        uint32_t         flip  = block_sign(at + i);
        const uint32_t * sign  = signs + (at + i) % PERIOD;
        const float *    block = values + i;
        for (unsigned o = 0; o < STEP; o += LANES) {
            for (unsigned l = 0; l < LANES; l++) {
                float    value = block[o + l];
                uint32_t bits  = bits_of(value);
                unsigned h     = o % HASHES + l;
                a.hash[h]      = (a.hash[h] << 7 | a.hash[h] >> 25) + bits;
                a.min[l]       = value < a.min[l] ? value : a.min[l];
                a.max[l]       = value > a.max[l] ? value : a.max[l];
                a.sum[l] += value;
                a.squares[l] += value * value;
                a.sketch[o + l] += float_of(bits ^ sign[o + l] ^ flip);
            }
        }
    }
    *out = a;
}

// Index of the first element below n whose absolute value is `largest`.
static inline __attribute__((always_inline)) uint32_t find_lanes(const float * values, uint32_t n, float largest) {
    uint32_t bits = bits_of(largest), i = 0;
    for (; i + STEP <= n; i += STEP) {
        uint32_t found = 0;
        for (unsigned l = 0; l < STEP; l++) found |= (bits_of(values[i + l]) & 0x7fffffff) == bits;
        if (found != 0) break;
    }
    while (i < n && (bits_of(values[i]) & 0x7fffffff) != bits) i++;
    return i;
}

typedef void (*add_function)(struct lanes * out, const float * values, uint32_t n, uint64_t at);
typedef uint32_t (*find_function)(const float * values, uint32_t n, float largest);

static void add_any(struct lanes * out, const float * values, uint32_t n, uint64_t at) {
    add_lanes(out, values, n, at);
}

static uint32_t find_any(const float * values, uint32_t n, float largest) {
    return find_lanes(values, n, largest);
}

static add_function  add  = add_any;
static find_function find = find_any;

#ifdef __x86_64__
__attribute__((target("avx2"))) static void add_avx2(struct lanes * out, const float * values, uint32_t n,
                                                     uint64_t at) {
    add_lanes(out, values, n, at);
}

__attribute__((target("avx2"))) static uint32_t find_avx2(const float * values, uint32_t n, float largest) {
    return find_lanes(values, n, largest);
}

__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512"))) static void add_avx512(
    struct lanes * out, const float * values, uint32_t n, uint64_t at) {
    add_lanes(out, values, n, at);
}
#endif

void ggs_values_kernel_init(bool portable) {
    for (uint32_t i = 0; i < PERIOD; i++) signs[i] = (uint32_t) (mix(i + 1) >> 17 & 1) << 31;
    add = add_any, find = find_any;
    if (portable) return;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) add = add_avx2, find = find_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
        add = add_avx512;
#endif
}

// Adds the sums of the loop. Returns false if an element or the sum of squares is not finite: NaN
// and Inf cost no instruction of their own.
static bool add_sums(struct ggs_values_sum * sum, const struct lanes * a) {
    float squares = 0;
    for (unsigned l = 0; l < LANES; l++) squares += a->squares[l];
    if ((bits_of(squares) & 0x7f800000) == 0x7f800000) return false;
    sum->squares += (double) squares;
    for (unsigned l = 0; l < LANES; l++) {
        if (a->min[l] < sum->min) sum->min = a->min[l];
        if (a->max[l] > sum->max) sum->max = a->max[l];
        sum->sum += (double) a->sum[l];
    }
    for (unsigned l = 0; l < STEP; l++) sum->sketch[l % GGS_VALUE_SKETCH] += a->sketch[l];
    for (unsigned l = 0; l < HASHES; l += 2) {
        uint64_t pair = (uint64_t) a->hash[l + 1] << 32 | a->hash[l];
        sum->hash += mix(pair + l * 0x9e3779b97f4a7c15u);
    }
    return true;
}

static float largest_of(const struct ggs_values_sum * sum) {
    return sum->max > -sum->min ? sum->max : -sum->min;
}

void ggs_values_sum(struct ggs_values_sum * sum, const float * values, uint32_t n, uint64_t at) {
    struct lanes lanes;
    uint32_t     whole = n / STEP * STEP;
    *sum               = (struct ggs_values_sum){.min = FLT_MAX, .max = -FLT_MAX, .n = n};
    if (whole > 0) {
        add(&lanes, values, whole, at);
        if (!add_sums(sum, &lanes)) add_each(sum, values, whole, at, 0);
    }
    add_each(sum, values + whole, n - whole, at, whole);
    if (sum->min <= sum->max) sum->largest = (uint32_t) at + find(values, n, fabsf(largest_of(sum)));
}

void ggs_values_join(struct ggs_values_sum * sum, const struct ggs_values_sum * next) {
    if (next->min <= next->max && (sum->min > sum->max || largest_of(next) > largest_of(sum)))
        sum->largest = next->largest;
    if (next->min < sum->min) sum->min = next->min;
    if (next->max > sum->max) sum->max = next->max;
    sum->sum += next->sum;
    sum->squares += next->squares;
    sum->nan += next->nan;
    sum->inf += next->inf;
    sum->n += next->n;
    sum->hash += mix(next->hash);
    for (unsigned k = 0; k < GGS_VALUE_SKETCH; k++) sum->sketch[k] += next->sketch[k];
}

void ggs_values_finish(const struct ggs_values_sum * sum, uint32_t token, struct ggs_spool_value * out) {
    uint32_t finite = sum->n - sum->nan - sum->inf;
    *out            = (struct ggs_spool_value){.token = token, .nan = sum->nan, .inf = sum->inf, .hash = sum->hash};
    if (finite == 0) return;
    out->min     = sum->min;
    out->max     = sum->max;
    out->mean    = (float) (sum->sum / finite);
    out->rms     = (float) sqrt(sum->squares / finite);
    out->largest = sum->largest;
    memcpy(out->sketch, sum->sketch, sizeof(out->sketch));
}
