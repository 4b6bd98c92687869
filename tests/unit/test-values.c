// What is noted of the values of an op, against sums that are made one element after the other.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/values/half-floats.h"
#include "trace/values/row-summary.h"

enum { MOST = 3 * GGS_VALUES_PIECE };
static float values[MOST];

static void fill(uint64_t seed, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        seed      = seed * 6364136223846793005u + 1442695040888963407u;
        values[i] = (float) ((int64_t) seed >> 40) / 4096.0f;
    }
}

// A row, piece by piece.
static struct ggs_spool_value sum_row(uint32_t n) {
    struct ggs_values_sum  sum, next;
    struct ggs_spool_value out;
    ggs_values_sum(&sum, values, n < GGS_VALUES_PIECE ? n : GGS_VALUES_PIECE, 0);
    for (uint32_t at = GGS_VALUES_PIECE; at < n; at += GGS_VALUES_PIECE) {
        ggs_values_sum(&next, values + at, n - at < GGS_VALUES_PIECE ? n - at : GGS_VALUES_PIECE, at);
        ggs_values_join(&sum, &next);
    }
    ggs_values_finish(&sum, 7, &out);
    return out;
}

static void assert_near(double a, double b, double error) {
    if (fabs(a - b) > error) fail_msg("%.9g is not %.9g", a, b);
}

static void assert_right(uint32_t n) {
    struct ggs_spool_value row = sum_row(n);
    double                 sum = 0, squares = 0, least = INFINITY, most = -INFINITY, largest = -1;
    uint32_t               nan = 0, inf = 0, which = 0, finite = 0;
    for (uint32_t i = 0; i < n; i++) {
        double v = (double) values[i];
        nan += isnan(v) ? 1 : 0;
        inf += isinf(v) ? 1 : 0;
        if (!isfinite(v)) continue;
        finite++;
        sum += v;
        squares += v * v;
        if (v < least) least = v;
        if (v > most) most = v;
        if (fabs(v) > largest) largest = fabs(v), which = i;
    }
    assert_int_equal(row.token, 7);
    assert_int_equal(row.nan, nan);
    assert_int_equal(row.inf, inf);
    if (finite == 0) {
        assert_true(row.min == 0 && row.max == 0 && row.rms == 0 && row.largest == 0);
        return;
    }
    assert_true((double) row.min == least && (double) row.max == most);
    assert_int_equal(row.largest, which);
    double rms = sqrt(squares / finite);
    assert_near((double) row.rms, rms, 2e-6 * rms);
    assert_near((double) row.mean, sum / finite, 1e-5 * rms);
}

static const uint32_t lengths[] = {
    1, 3, 63, 64, 65, 100, 128, 1000, 2048, 4095, GGS_VALUES_PIECE, GGS_VALUES_PIECE + 1, 5632, MOST};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static void test_sums(void ** state) {
    (void) state;
    for (int portable = 0; portable < 2; portable++) {
        ggs_values_kernel_init(portable != 0);
        for (unsigned i = 0; i < LENGTHS; i++) {
            fill(i + 1, MOST);
            assert_right(lengths[i]);
        }
    }
}

// The same bits whatever the processor can do: hash, sums and sketch.
static void test_instructions(void ** state) {
    (void) state;
    for (unsigned i = 0; i < LENGTHS; i++) {
        fill(100 + i, MOST);
        ggs_values_kernel_init(true);
        struct ggs_spool_value portable = sum_row(lengths[i]);
        ggs_values_kernel_init(false);
        struct ggs_spool_value best = sum_row(lengths[i]);
        assert_memory_equal(&portable, &best, sizeof(best));
    }
}

// Rows at once are what their pieces are, with and without elements that are not finite.
static void test_rows(void ** state) {
    enum { ROWS = 5, WITH_NAN = 2, GAP = 3 };
    static float rows[ROWS * (GGS_VALUES_PIECE + GAP)];
    (void) state;
    for (int portable = 0; portable < 2; portable++) {
        ggs_values_kernel_init(portable != 0);
        for (unsigned i = 0; i < LENGTHS && lengths[i] <= GGS_VALUES_PIECE; i++) {
            struct ggs_spool_value out[ROWS];
            uint32_t               n = lengths[i];
            for (unsigned r = 0; r < ROWS; r++) {
                fill(200 + i * ROWS + r, n);
                if (r == WITH_NAN) values[n / 2] = NAN;
                memcpy(rows + r * (n + GAP), values, n * sizeof(float));
            }
            memset(out, 0xff, sizeof(out));
            ggs_values_rows(out, rows, (n + GAP) * sizeof(float), n, ROWS);
            for (unsigned r = 0; r < ROWS; r++) {
                memcpy(values, rows + r * (n + GAP), n * sizeof(float));
                struct ggs_spool_value piece = sum_row(n);
                assert_int_equal(piece.nan, r == WITH_NAN);
                out[r].token = piece.token;
                assert_memory_equal(&out[r], &piece, sizeof(piece));
            }
        }
    }
}

// The definition of hash and sketch: recordings of all versions compare with each other.
static void test_definition(void ** state) {
    static const struct {
        uint32_t n, largest;
        uint64_t hash;
        float    first, last; // buckets of the sketch
    } expected[] = {
        {3, 0, 0xc38d56f81644bd3c, -2020.19727f, 0},
        {64, 18, 0xcad85aada99f41cb, 839.856445f, -1677.23926f},
        {4095, 2920, 0x2ff952694af64b93, -16509.6035f, -4916.07764f},
        {GGS_VALUES_PIECE, 1234, 0x324a54bcfad4f660, 3275.49268f, 14349.2939f},
        {5632, 816, 0x6baaf02a9db14007, 7082.21191f, 13179.4785f},
    };
    (void) state;
    ggs_values_kernel_init(false);
    for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        fill(i + 7, MOST);
        struct ggs_spool_value row = sum_row(expected[i].n);
        assert_int_equal(row.largest, expected[i].largest);
        assert_int_equal(row.hash, expected[i].hash);
        assert_true(row.sketch[0] == expected[i].first && row.sketch[GGS_VALUE_SKETCH - 1] == expected[i].last);
    }
}

// All numbers of both types, by their definition; a NaN stays one, with its sign.
static void test_half_floats(void ** state) {
    (void) state;
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        uint16_t half     = (uint16_t) bits;
        int      exponent = (int) (bits >> 10 & 0x1f), fraction = (int) (bits & 0x3ff);
        double   expected = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
        float    value, wide;
        uint32_t wide_bits;
        if (exponent == 31) expected = fraction == 0 ? INFINITY : NAN;
        if (bits >> 15 != 0) expected = -expected;
        ggs_values_from_f16(&half, &value, 1);
        assert_int_equal(signbit(value) != 0, bits >> 15);
        if (isnan(expected))
            assert_true(isnan(value));
        else
            assert_true((double) value == expected);
        ggs_values_from_bf16(&half, &wide, 1);
        memcpy(&wide_bits, &wide, sizeof(wide_bits));
        assert_int_equal(wide_bits, bits << 16);
    }
}

static void test_not_finite(void ** state) {
    (void) state;
    ggs_values_kernel_init(false);
    for (unsigned i = 0; i < LENGTHS; i++) {
        fill(i + 50, MOST);
        values[lengths[i] / 2] = NAN;
        assert_right(lengths[i]);
        values[lengths[i] / 3] = -INFINITY;
        assert_right(lengths[i]);
        fill(i + 50, MOST);
        values[lengths[i] - 1] = 3e38f; // its square is not finite
        assert_right(lengths[i]);
    }
    for (uint32_t i = 0; i < 200; i++) values[i] = NAN;
    assert_right(200);
}

// Every bit counts, and so does the place of every element.
static void test_hash(void ** state) {
    (void) state;
    ggs_values_kernel_init(false);
    for (unsigned i = 1; i < LENGTHS; i++) {
        uint32_t n = lengths[i];
        fill(i, MOST);
        uint64_t hash = sum_row(n).hash;
        for (uint32_t at = 0; at < n; at += 1 + n / 50) {
            float before = values[at];
            values[at]   = nextafterf(before, INFINITY);
            assert_true(sum_row(n).hash != hash);
            values[at] = before;
        }
        float first = values[0];
        values[0] = values[n - 1], values[n - 1] = first;
        assert_true(sum_row(n).hash != hash);
    }
    fill(3, 64);
    values[5]         = 0.0f;
    uint64_t positive = sum_row(64).hash;
    values[5]         = -0.0f;
    assert_true(sum_row(64).hash != positive);
}

// The distance of two sketches estimates that of the rows; the mean over many is right, and no
// single one is far off.
static void test_sketch(void ** state) {
    enum { N = 2048, TRIES = 300 };
    (void) state;
    double ratio = 0;
    ggs_values_kernel_init(false);
    for (unsigned t = 0; t < TRIES; t++) {
        double distance = 0, estimate = 0;
        fill(t + 1000, N);
        struct ggs_spool_value a = sum_row(N);
        for (uint32_t i = 0; i < N; i++) {
            float before = values[i];
            values[i] += 1e-3f * values[(i * 7 + 13 * t) % N];
            distance += pow((double) values[i] - (double) before, 2);
        }
        struct ggs_spool_value b = sum_row(N);
        for (unsigned k = 0; k < GGS_VALUE_SKETCH; k++) estimate += pow((double) a.sketch[k] - (double) b.sketch[k], 2);
        double own = sqrt(estimate / distance);
        assert_true(own > 0.3 && own < 2);
        ratio += estimate / distance / TRIES;
    }
    assert_near(ratio, 1, 0.1);
}

static int by_size(const void * a, const void * b) {
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

// The distance of two rows is the length of their difference, and the sketch is linear.
static void test_sketch_estimates_lengths(void ** state) {
    enum { N = 1000 };
    static double ratios[N];
    (void) state;
    ggs_values_kernel_init(false);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t n      = 64 + 7 * i;
        double   length = 0, estimate = 0;
        fill(i + 1, n);
        struct ggs_spool_value row = sum_row(n);
        for (uint32_t k = 0; k < n; k++) length += (double) values[k] * (double) values[k];
        for (uint32_t k = 0; k < GGS_VALUE_SKETCH; k++) estimate += (double) row.sketch[k] * (double) row.sketch[k];
        ratios[i] = sqrt(estimate / length);
    }
    qsort(ratios, N, sizeof(ratios[0]), by_size);
    if (ratios[N / 100] < 0.55 || ratios[N - N / 100 - 1] > 1.45)
        fail_msg("1 %% to 99 %% of estimates are %.3f to %.3f of the length", ratios[N / 100], ratios[N - N / 100 - 1]);
    assert_near(ratios[N / 2], 1, 0.05);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_sketch_estimates_lengths),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_half_floats),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_sketch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
