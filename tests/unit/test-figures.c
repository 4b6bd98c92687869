// Conditions on figures, and telling a change from noise.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// clang-format off
#include <cmocka.h>
// clang-format on

#include "analyze/diff/figures.h"
#include "analyze/diff/sample.h"
#include "analyze/ops/totals.h"
#include "answer/bench.h"

static void conditions_are_read(void ** state) {
    static const char * const good[] = {"tokens_per_s < -3 %", "bytes_read>+1%", " unseen != 0 ", "token_ns >= 1e6",
                                        "ops<=-5.5 %"};
    static const char * const bad[] = {"",         "tokens_per_s", "tokens_per_s <", "speed < 3", "ops << 3", "ops = 3",
                                       "ops == 3", "ops < x",      "ops < 3 % more", "ops < nan", "ops <> 1"};
    struct ggs_fail_if        list  = {.n = 0};
    (void) state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) assert_true(ggs_fail_if_add(&list, good[i]));
    assert_int_equal(list.n, 5);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) assert_false(ggs_fail_if_add(&list, bad[i]));
    assert_int_equal(list.n, 5);
    while (ggs_fail_if_add(&list, "ops != 0")) continue;
    assert_int_equal(list.n, GGS_FAIL_IF_MOST);
}

static bool fails(const char * text, double a, double b) {
    struct ggs_fail_if   list = {.n = 0};
    struct ggs_judgement judgement;
    assert_true(ggs_fail_if_add(&list, text));
    ggs_fail_if_judge(&list.conditions[0], a, b, &judgement);
    return judgement.failed;
}

static void changes_are_judged(void ** state) {
    (void) state;
    assert_true(fails("tokens_per_s < -3 %", 100, 96.9));
    assert_false(fails("tokens_per_s < -3 %", 100, 97.1));
    assert_false(fails("tokens_per_s < -3 %", 100, 120));
    assert_true(fails("bytes_read > 1 %", 1000, 1011));
    assert_false(fails("bytes_read > 10", 1000, 1010));
    assert_true(fails("bytes_read >= 10", 1000, 1010));
    assert_false(fails("unseen != 0", 0, 0));
    assert_true(fails("unseen > 5 %", 0, 1)); // from nothing to something is more than any percent
    assert_false(fails("unseen > 5 %", 0, 0));
    assert_true(fails("tokens_per_s < -3 %", NAN, 5)); // nobody can tell
}

static void noise_is_told_from_change(void ** state) {
    enum { N = 12 };
    double base[N], again[N], slower[N], same[N];
    (void) state;
    for (int i = 0; i < N; i++) {
        double wobble = (i * 7 % 5) - 2; // -2..2
        base[i]       = 100 + wobble;
        again[i]      = 100 - wobble;
        same[i]       = 100 + ((i * 3 % 5) - 2);
        slower[i]     = 120 + wobble;
    }
    struct ggs_ratio control = ggs_sample_ratio(base, again, N), change = ggs_sample_ratio(base, slower, N),
                     none = ggs_sample_ratio(base, same, N);
    assert_true(ggs_ratio_differs(&change, &control));
    assert_false(ggs_ratio_differs(&none, &control));
    assert_true(change.low <= change.value && change.value <= change.high && change.low > 1.1);
    struct ggs_ratio twice = ggs_sample_ratio(base, slower, N);
    assert_true(twice.low == change.low && twice.high == change.high);
    struct ggs_ratio exact = ggs_sample_ratio(base, base, N);
    assert_true(exact.value == 1 && exact.low == 1 && exact.high == 1);
    base[3] = NAN;
    assert_true(isnan(ggs_sample_ratio(base, slower, N).value));
    assert_true(isnan(ggs_sample_median(base, 0)));
}

static struct ggs_bench_figure compare(const char * name, const double * a, const double * b, const double * again,
                                       unsigned n) {
    struct ggs_bench_figure outcome = {.ratio = ggs_sample_ratio(a, b, n), .control = ggs_sample_ratio(a, again, n)};
    outcome.differs                 = ggs_ratio_differs(&outcome.ratio, &outcome.control);
    for (size_t i = 0; i < ggs_n_figures; i++)
        if (strcmp(ggs_figures[i].name, name) == 0) outcome.figure = &ggs_figures[i];
    assert_non_null(outcome.figure);
    return outcome;
}

// B is 28 % faster. Other programs hold up some tokens of each run for long: the mean calls it
// noise, quiet tokens do not.
static void test_the_steadier_figure_decides(void ** state) {
    (void) state;
    enum { N = 10 };
    double   mean[3][N], quiet[3][N];
    uint32_t seed = 1;
    for (unsigned i = 0; i < N; i++) {
        for (unsigned side = 0; side < 3; side++) {
            seed           = seed * 1664525u + 1013904223u;
            quiet[side][i] = (side == 1 ? 7.2 : 10) + (double) (seed >> 24) / 1000;
            mean[side][i]  = quiet[side][i] + (double) (seed >> 20) / 100; // 0 to 41
        }
    }
    struct ggs_bench_figure figures[] = {compare("token_ns", mean[0], mean[1], mean[2], N),
                                         compare("token_quiet_ns", quiet[0], quiet[1], quiet[2], N)};
    assert_false(figures[0].differs);
    assert_true(figures[1].differs);
    assert_ptr_equal(ggs_bench_decides(figures, 2), &figures[1]);
    // On a quiet machine the mean may be the steadier one.
    figures[0] = compare("token_ns", quiet[0], quiet[1], quiet[0], N);
    assert_ptr_equal(ggs_bench_decides(figures, 2), &figures[0]);
    figures[0].ratio.value = figures[1].ratio.value = NAN;
    assert_null(ggs_bench_decides(figures, 2));
}

// A program that is slow between decodes makes fewer tokens per second; its tokens take as long.
static void time_between_decodes_counts(void ** state) {
    (void) state;
    const struct ggs_totals totals = {.generate_steps = 10, .generate_ns = 1000000000, .between_ns = 1000000000};
    for (size_t i = 0; i < ggs_n_figures; i++) {
        if (strcmp(ggs_figures[i].name, "tokens_per_s") == 0) assert_true(ggs_figures[i].of(&totals) == 5);
        if (strcmp(ggs_figures[i].name, "token_ns") == 0) assert_true(ggs_figures[i].of(&totals) == 1e8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_steadier_figure_decides),
                                       cmocka_unit_test(conditions_are_read), cmocka_unit_test(changes_are_judged),
                                       cmocka_unit_test(noise_is_told_from_change),
                                       cmocka_unit_test(time_between_decodes_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
