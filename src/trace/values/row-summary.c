#include "trace/values/row-summary.h"

#include <float.h>
#include <math.h>
#include <string.h>

// Element i is added in lane i % LANES, and lanes are added in pairs. The lanes are arrays, so that
// the order of additions does not depend on the compiler. CMakeLists.txt forbids fused
// multiply-add here, which would round otherwise.
enum { LANES = 16 };
_Static_assert(LANES == (int) GGS_VALUE_SKETCH && GGS_VALUES_PIECE % LANES == 0, "a lane is a bucket of the sketch");

static uint32_t signs[GGS_VALUES_PIECE] __attribute__((aligned(64))); // bit 31; a piece has one more

static inline uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint32_t piece_sign(uint64_t at) {
    return at == 0 ? 0 : (uint32_t) (mix(at) >> 13 & 1) << 31;
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

static inline bool is_finite(float value) {
    return (bits_of(value) & 0x7f800000) != 0x7f800000;
}

static inline float largest_of(const struct ggs_values_sum * sum) {
    return fabsf(sum->max > -sum->min ? sum->max : sum->min);
}

// Adds elements one by one: the rest of a piece, and pieces with elements that are not finite.
// `first`: number of the first one in its piece.
static void add_each(struct ggs_values_sum * sum, const float * values, uint32_t n, uint32_t first, uint64_t at) {
    float largest = sum->min > sum->max ? -1 : largest_of(sum);
    for (uint32_t i = first; i < first + n; i++) {
        float    value = values[i - first];
        uint32_t bits  = bits_of(value);
        sum->hash += mix((uint64_t) bits << 32 ^ (at + i));
        if (!is_finite(value)) {
            sum->nan += (bits & 0x7fffff) != 0;
            sum->inf += (bits & 0x7fffff) == 0;
            continue;
        }
        if (fabsf(value) > largest) largest = fabsf(value), sum->largest = (uint32_t) (at + i);
        sum->min = value < sum->min ? value : sum->min;
        sum->max = value > sum->max ? value : sum->max;
        sum->sum += (double) value;
        sum->squares += (double) value * (double) value;
        sum->sketch[i % LANES] += float_of(bits ^ signs[i]);
    }
}

#define INLINE static inline __attribute__((always_inline))

// Folds the lanes into one. Compilers make vectors of the loops.
#define FOLD(NAME, TYPE, BOTH)                                                \
    INLINE TYPE fold_##NAME(const TYPE lanes[LANES]) {                        \
        TYPE f[LANES / 2];                                                    \
        for (unsigned l = 0; l < 8; l++) f[l] = BOTH(lanes[l], lanes[l + 8]); \
        for (unsigned l = 0; l < 4; l++) f[l] = BOTH(f[l], f[l + 4]);         \
        for (unsigned l = 0; l < 2; l++) f[l] = BOTH(f[l], f[l + 2]);         \
        return BOTH(f[0], f[1]);                                              \
    }
#define SUM(a, b)  ((a) + (b))
#define LESS(a, b) ((b) < (a) ? (b) : (a))
#define MORE(a, b) ((b) > (a) ? (b) : (a))
FOLD(sum, float, SUM)
FOLD(min, float, LESS)
FOLD(max, float, MORE)
FOLD(number, uint32_t, LESS)

// A lane with an element whose absolute value is `largest`.
INLINE uint32_t lane_of(const float min[LANES], const float max[LANES], float largest) {
    uint32_t lanes[LANES];
    for (unsigned l = 0; l < LANES; l++) lanes[l] = ((max[l] == largest) | (min[l] == -largest)) ? l : LANES;
    return fold_number(lanes);
}

INLINE uint64_t fold_hash(const uint32_t hash[LANES]) {
    uint64_t folded = 0;
    for (uint32_t l = 0; l < LANES; l += 2) {
        uint32_t low = hash[l] ^ 0x9e3779b9u * (l + 1), high = hash[l + 1] ^ 0x85ebca6bu * (l + 1);
        folded += (uint64_t) low * high + ((uint64_t) hash[l] << 32 | hash[l + 1]);
    }
    return mix(folded);
}

// Sums `n` elements, a multiple of LANES; `largest` becomes a lane, for find_largest(). Returns
// false if an element or the sum of squares is not finite: NaN and Inf cost no instruction of
// their own.
INLINE bool sum_lanes(struct ggs_values_sum * sum, const float * values, uint32_t n, uint64_t at) {
    float    min[LANES], max[LANES], sums[LANES], squares[LANES], sketch[LANES];
    uint32_t hash[LANES];
    for (unsigned l = 0; l < LANES; l++) {
        min[l] = FLT_MAX, max[l] = -FLT_MAX, sums[l] = squares[l] = sketch[l] = 0;
        hash[l] = (uint32_t) at;
    }
    for (uint32_t i = 0; i < n; i += LANES) {
        const uint32_t * sign  = signs + i;
        const float *    block = values + i;
        for (unsigned l = 0; l < LANES; l++) {
            float    value = block[l];
            uint32_t bits  = bits_of(value);
            hash[l]        = (hash[l] << 7 | hash[l] >> 25) + bits;
            min[l]         = value < min[l] ? value : min[l];
            max[l]         = value > max[l] ? value : max[l];
            sums[l] += value;
            squares[l] += value * value;
            sketch[l] += float_of(bits ^ sign[l]);
        }
    }
    float square = fold_sum(squares);
    if (!is_finite(square)) return false;
    sum->min     = fold_min(min);
    sum->max     = fold_max(max);
    sum->largest = lane_of(min, max, largest_of(sum));
    sum->sum     = (double) fold_sum(sums);
    sum->squares = (double) square;
    sum->hash    = fold_hash(hash);
    sum->n       = n;
    sum->nan = sum->inf = 0;
    memcpy(sum->sketch, sketch, sizeof(sketch));
    return true;
}

INLINE void finish(const struct ggs_values_sum * sum, struct ggs_spool_value * out) {
    uint32_t finite = sum->n - sum->nan - sum->inf;
    out->nan        = sum->nan;
    out->inf        = sum->inf;
    out->hash       = sum->hash;
    out->min        = finite == 0 ? 0 : sum->min;
    out->max        = finite == 0 ? 0 : sum->max;
    out->mean       = finite == 0 ? 0 : (float) (sum->sum / finite);
    out->rms        = finite == 0 ? 0 : (float) sqrt(sum->squares / finite);
    out->largest    = finite == 0 ? 0 : sum->largest;
    memcpy(out->sketch, sum->sketch, sizeof(out->sketch));
}

// The functions for one set of instructions: a piece, and a whole row without a sum in memory.
#define VARIANT(NAME, ...)                                                                                           \
    __VA_ARGS__ static bool sum_##NAME(struct ggs_values_sum * sum, const float * values, uint32_t n, uint64_t at) { \
        return sum_lanes(sum, values, n, at);                                                                        \
    }                                                                                                                \
    __VA_ARGS__ static bool row_##NAME(struct ggs_spool_value * out, const float * values, uint32_t n) {             \
        struct ggs_values_sum sum;                                                                                   \
        if (!sum_lanes(&sum, values, n, 0)) return false;                                                            \
        finish(&sum, out);                                                                                           \
        return true;                                                                                                 \
    }

VARIANT(any, )
#ifdef __x86_64__
VARIANT(avx2, __attribute__((target("avx2"))))
VARIANT(avx512, __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512"))))
#endif

static bool (*sum_best)(struct ggs_values_sum * sum, const float * values, uint32_t n, uint64_t at) = sum_any;
static bool (*row_best)(struct ggs_spool_value * out, const float * values, uint32_t n)             = row_any;

void ggs_values_kernel_init(bool portable) {
    for (uint32_t i = 0; i < GGS_VALUES_PIECE; i++) signs[i] = (uint32_t) (mix(i + 1) >> 17 & 1) << 31;
    sum_best = sum_any, row_best = row_any;
    if (portable) return;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) sum_best = sum_avx2, row_best = row_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
        sum_best = sum_avx512, row_best = row_avx512;
#endif
}

void ggs_values_kernel_begin(void) {
    ggs_values_kernel_init(false);
}

// The index of an element of the lane whose absolute value is `largest`. The loop has no exit: that
// would depend on the elements, and be mispredicted.
static uint32_t find_largest(const float * values, uint32_t n, uint32_t lane, float largest) {
    uint32_t found = lane;
    for (uint32_t i = n; i > 0; i -= LANES) {
        bool is = (bits_of(values[i - LANES + lane]) & 0x7fffffff) == bits_of(largest);
        found   = is ? i - LANES + lane : found;
    }
    return found;
}

void ggs_values_sum(struct ggs_values_sum * sum, const float * values, uint32_t n, uint64_t at) {
    uint32_t whole = n / LANES * LANES, done = whole > 0 && sum_best(sum, values, whole, at) ? whole : 0;
    if (done == 0)
        *sum = (struct ggs_values_sum){.min = FLT_MAX, .max = -FLT_MAX};
    else
        sum->largest = (uint32_t) at + find_largest(values, done, sum->largest, largest_of(sum));
    if (done < n) add_each(sum, values + done, n - done, done, at);
    sum->n        = n;
    uint32_t flip = piece_sign(at);
    for (unsigned l = 0; flip != 0 && l < LANES; l++) sum->sketch[l] = -sum->sketch[l];
}

// Returns false if that has to be done element by element.
static bool sum_row(struct ggs_spool_value * out, const float * values, uint32_t n) {
    if (n % LANES == 0 && n > 0 && row_best(out, values, n)) return true;
    struct ggs_values_sum sum;
    ggs_values_sum(&sum, values, n, 0);
    finish(&sum, out);
    return false;
}

static void find_in_row(struct ggs_spool_value * row, const float * values, uint32_t n) {
    row->largest = find_largest(values, n, row->largest, fabsf(row->max > -row->min ? row->max : row->min));
}

// Each row's largest element is looked for while the next row is summed: processors compute what
// does not wait for the lanes to be folded.
void ggs_values_rows(struct ggs_spool_value * out, const float * values, size_t stride, uint32_t n, uint32_t rows) {
    const float * last = NULL; // the previous row, if its largest element has not been looked for
    for (uint32_t r = 0; r < rows; r++) {
        const float * row   = (const float *) ((const char *) values + r * stride);
        bool          lanes = sum_row(&out[r], row, n);
        if (last != NULL) find_in_row(&out[r - 1], last, n);
        last = lanes ? row : NULL;
    }
    if (last != NULL) find_in_row(&out[rows - 1], last, n);
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
    finish(sum, out);
    out->token = token;
}
