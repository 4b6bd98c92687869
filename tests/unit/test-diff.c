// Unit tests of src/analyze/diff: which ops are compared with which.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/diff/diff.h"
#include "recording-fixture.h"

static struct ggs_error     error;
static const int32_t        tokens[] = {3, 5};
static const struct ggs_run no_run;

static void compare(struct recording * a, struct recording * b, struct ggs_diff * diff, struct ggs_trace traces[2]) {
    recording_done(a, &traces[0]);
    recording_done(b, &traces[1]);
    assert_int_equal(ggs_diff_compute(diff, &traces[0], &traces[1], &error), 0);
}

static void done(struct recording * a, struct recording * b, struct ggs_diff * diff, struct ggs_trace traces[2]) {
    ggs_diff_release(diff);
    recording_close(a, &traces[0]);
    recording_close(b, &traces[1]);
}

static void test_the_same_twice(void ** state) {
    (void) state;
    struct recording a, b;
    struct ggs_diff  diff;
    struct ggs_trace traces[2];
    small_recording(&a);
    small_recording(&b);
    compare(&a, &b, &diff, traces);
    assert_true(diff.identical);
    assert_int_equal(diff.ops, 8);
    assert_int_equal(diff.tokens, 2);
    assert_int_equal(diff.n_items + diff.n_warnings, 0);
    done(&a, &b, &diff, traces);
}

// One op more in B, and a step more.
static void test_what_only_one_has(void ** state) {
    (void) state;
    struct recording a, b;
    struct ggs_diff  diff;
    struct ggs_trace traces[2];
    small_recording(&a);
    small_recording(&b);
    struct ggs_run run = no_run;
    run.run = 3, run.graph = 1, run.step = 1, run.phase = GGS_PHASE_GENERATE, run.op_runs = 1, run.executed = 1;
    recording_run(&b, &run);
    recording_op_run(&b, 3, 5, 0, 9000, 10, 0, 0, 0);
    run.run = 4, run.step = 2;
    recording_run(&b, &run);
    recording_op_run(&b, 4, 5, 0, 9100, 10, 0, 0, 0);
    recording_step(&b, 2, GGS_PHASE_GENERATE, 4, 9100, 9200, 1);
    compare(&a, &b, &diff, traces);
    assert_false(diff.identical);
    assert_int_equal(diff.ops, 8);
    assert_int_equal(diff.only_a, 0);
    assert_int_equal(diff.only_b, 1);
    assert_int_equal(diff.tokens_only_b, 1);
    done(&a, &b, &diff, traces);
}

static void test_other_bytes(void ** state) {
    (void) state;
    struct recording a, b;
    struct ggs_diff  diff;
    struct ggs_trace traces[2];
    for (int i = 0; i < 2; i++) {
        struct recording * r = i == 0 ? &a : &b;
        recording_open(r);
        small_graph(r, 1);
        small_run(r, 1, 1, 0, GGS_PHASE_PROMPT, 100, tokens, i == 0 ? 1 : 2); // one row, or two
        recording_step(r, 0, GGS_PHASE_PROMPT, 1, 100, 600, 2);
    }
    compare(&a, &b, &diff, traces);
    assert_int_equal(diff.bytes_differ, 1);
    assert_string_equal(diff.items[0].op, "GET_ROWS");
    assert_int_equal(diff.items[0].b.read - diff.items[0].a.read, 32);
    done(&a, &b, &diff, traces);
}

// Two contexts at the same time: their steps take turns in one recording and follow each other in
// the other.
static void test_ops_of_two_contexts(void ** state) {
    (void) state;
    static const int64_t steps[2][4] = {{0, 1, 0, 1}, {0, 0, 1, 1}};
    struct recording     a, b;
    struct ggs_diff      diff;
    struct ggs_trace     traces[2];
    for (int i = 0; i < 2; i++) {
        struct recording * r = i == 0 ? &a : &b;
        recording_open(r);
        small_graph(r, 1);
        for (uint64_t run = 1; run <= 4; run++)
            small_run(r, run, 1, steps[i][run - 1], GGS_PHASE_GENERATE, 1000 * (int64_t) run, tokens, 1);
        for (int64_t step = 0; step < 2; step++) {
            struct ggs_step row = {.step      = step,
                                   .phase     = GGS_PHASE_GENERATE,
                                   .context   = (uint64_t) step,
                                   .begin_ns  = 1000,
                                   .end_ns    = 5000,
                                   .first_run = 1,
                                   .last_run  = 4,
                                   .runs      = 2,
                                   .tokens    = 1};
            recording_row(r, GGS_TABLE_STEPS, &row);
        }
    }
    compare(&a, &b, &diff, traces);
    assert_int_equal(diff.tokens, 2);
    assert_int_equal(diff.tokens_only_a + diff.tokens_only_b, 0);
    assert_int_equal(diff.only_a + diff.only_b, 0);
    assert_int_equal(diff.ops, 16);
    done(&a, &b, &diff, traces);
}

// Sizes are for people, in bytes only where they would look the same.
static void test_sizes_of_models(void ** state) {
    (void) state;
    static const struct {
        uint64_t     a, b;
        const char * warning; // from the names on
    } cases[] = {
        {12345678, 12345678, NULL},
        {12345678, 2147483648, "small.gguf (9.77 KiB), m.gguf (11.8 MiB) and small.gguf (9.77 KiB), m.gguf (2.00 GiB)"},
        {12345678, 12345679,
         "small.gguf (10,000 bytes), m.gguf (12,345,678 bytes) and small.gguf (10,000 bytes), m.gguf (12,345,679 bytes)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct recording a, b;
        struct ggs_diff  diff;
        struct ggs_trace traces[2];
        small_recording(&a);
        small_recording(&b);
        recording_file(&a, "/models/m.gguf", cases[i].a);
        recording_file(&b, "/models/m.gguf", cases[i].b);
        compare(&a, &b, &diff, traces);
        assert_int_equal(diff.n_warnings, cases[i].warning == NULL ? 0 : 1);
        if (cases[i].warning != NULL) {
            assert_memory_equal(diff.warnings[0], "the models differ: ", 19);
            assert_string_equal(diff.warnings[0] + 19, cases[i].warning);
        }
        done(&a, &b, &diff, traces);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_twice),  cmocka_unit_test(test_what_only_one_has),
        cmocka_unit_test(test_other_bytes),     cmocka_unit_test(test_ops_of_two_contexts),
        cmocka_unit_test(test_sizes_of_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
