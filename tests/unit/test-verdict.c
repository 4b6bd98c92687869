// Unit tests of src/analyze/diff/verdict.c: words, medians and sums go the same way.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/diff/verdict.h"

// `n` values around `typical` that lie a tenth apart, and `held` that took `longer` more.
static struct ggs_measured measure(uint64_t n, uint64_t typical, uint64_t held, uint64_t longer) {
    struct ggs_spread   spread = {0};
    struct ggs_measured m      = {0};
    for (uint64_t i = 0; i < n; i++) {
        uint64_t ns = typical + typical / 20 * (i % 3) + (i < held ? longer : 0);
        assert_int_equal(ggs_spread_add(&spread, ns), 0);
        m.sum_ns += ns;
    }
    m.time = ggs_spread_quartiles(&spread);
    ggs_spread_release(&spread);
    return m;
}

static enum ggs_verdict judge(struct ggs_measured a, struct ggs_measured b, uint64_t whole_ns) {
    return ggs_verdict_of(&a, &b, whole_ns);
}

static void test_typical_values(void ** state) {
    (void) state;
    assert_int_equal(judge(measure(40, 10000, 0, 0), measure(40, 10000, 0, 0), 0), GGS_SAME);
    assert_int_equal(judge(measure(40, 10000, 0, 0), measure(40, 10400, 0, 0), 0), GGS_WITHIN_NOISE);
    assert_int_equal(judge(measure(40, 10000, 0, 0), measure(40, 14000, 0, 0), 0), GGS_SLOWER);
    assert_int_equal(judge(measure(40, 14000, 0, 0), measure(40, 10000, 0, 0), 0), GGS_FASTER);
    assert_int_equal(judge(measure(4, 10000, 0, 0), measure(40, 90000, 0, 0), 0), GGS_UNCERTAIN);
    // more values of one than of the other: by mean
    assert_int_equal(judge(measure(40, 10000, 0, 0), measure(20, 14000, 0, 0), 0), GGS_SLOWER);
}

// The median stays; a few were held up for long.
static void test_stalls(void ** state) {
    (void) state;
    struct ggs_measured even = measure(40, 10000, 0, 0), held = measure(40, 10000, 6, 900000);
    assert_int_equal(judge(even, held, 0), GGS_STALLS);
    assert_int_equal(judge(held, even, 0), GGS_FEWER_STALLS);
    // but not worth a word where all of it took a thousand times as long
    assert_int_equal(judge(even, held, 1000 * held.sum_ns), GGS_WITHIN_NOISE);
}

// "faster" never stands beside a sum that grew.
static void test_against_the_median(void ** state) {
    (void) state;
    struct ggs_measured a = measure(40, 14000, 0, 0), b = measure(40, 10000, 3, 141000000);
    assert_true(b.time.median < a.time.median);
    assert_int_equal(judge(a, b, 0), GGS_STALLS);
    assert_int_equal(judge(b, a, 0), GGS_FEWER_STALLS);
    // faster by median, and in all about the same
    assert_int_equal(judge(a, measure(40, 10000, 4, 41000), 0), GGS_WITHIN_NOISE);
}

// Whatever the values are.
static void test_always_agree(void ** state) {
    (void) state;
    uint32_t random = 1;
    for (int i = 0; i < 20000; i++) {
        uint64_t v[6];
        for (int k = 0; k < 6; k++) {
            random = random * 1664525u + 1013904223u;
            v[k]   = random >> 8;
        }
        struct ggs_measured a = measure(5 + v[0] % 60, 100 + v[1] % 20000, v[2] % 8, v[3] % 3000000);
        struct ggs_measured b = measure(5 + v[0] % 60, 100 + v[4] % 20000, v[5] % 8, v[3] % 500000);
        enum ggs_verdict    w = judge(a, b, v[2] % 3 == 0 ? 0 : 10 * a.sum_ns);
        if (w == GGS_SLOWER || w == GGS_STALLS) assert_true(b.sum_ns > a.sum_ns);
        if (w == GGS_FASTER || w == GGS_FEWER_STALLS) assert_true(b.sum_ns < a.sum_ns);
        if (w == GGS_SLOWER) assert_true(b.time.median > a.time.median);
        if (w == GGS_FASTER) assert_true(b.time.median < a.time.median);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typical_values),
        cmocka_unit_test(test_stalls),
        cmocka_unit_test(test_against_the_median),
        cmocka_unit_test(test_always_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
