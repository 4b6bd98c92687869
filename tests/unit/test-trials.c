// The order of trials, intervals, and the runner itself with programs that need no engine.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/diff/sample.h"
#include "base/error.h"
#include "trials/order.h"
#include "trials/trials.h"

// ---- order ----

static void test_every_round_tries_each_variant_once(void ** state) {
    (void) state;
    for (unsigned n = 1; n < 40; n++) {
        for (unsigned round = 0; round < 9; round++) {
            unsigned order[40], again[40], seen[40] = {0};
            ggs_order_of_round(order, n, round, n);
            ggs_order_of_round(again, n, round, n);
            assert_memory_equal(order, again, n * sizeof(*order));
            for (unsigned i = 0; i < n; i++) seen[order[i]]++;
            for (unsigned i = 0; i < n; i++) assert_int_equal(seen[i], 1);
        }
    }
}

// When each variant is tried on average, over `rounds` rounds of n: the effect that a linear drift
// has.
static void mean_times(unsigned n, unsigned rounds, uint64_t seed, double * means) {
    for (unsigned i = 0; i < n; i++) means[i] = 0;
    for (unsigned round = 0; round < rounds; round++) {
        unsigned order[64];
        ggs_order_of_round(order, n, round, seed);
        for (unsigned i = 0; i < n; i++) means[order[i]] += (double) (round * n + i) / rounds;
    }
}

static void test_drift_is_no_effect(void ** state) {
    (void) state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        double means[64];
        for (unsigned n = 2; n < 64; n++) {
            mean_times(n, 6, seed, means);
            for (unsigned i = 1; i < n; i++) assert_true(fabs(means[i] - means[0]) < 1e-9);
            mean_times(n, 5, seed, means); // the round without a partner is worth a fifth of a round
            for (unsigned i = 1; i < n; i++) assert_true(fabs(means[i] - means[0]) <= (double) n / 5);
        }
    }
}

static void test_no_variant_keeps_its_place(void ** state) {
    (void) state;
    for (unsigned n = 3; n < 20; n++) {
        for (unsigned variant = 0; variant < n; variant++) {
            unsigned places = 0, order[20], seen[20] = {0};
            for (unsigned round = 0; round < 2 * n; round++) {
                ggs_order_of_round(order, n, round, 7);
                for (unsigned i = 0; i < n; i++) {
                    if (order[i] == variant && seen[i]++ == 0) places++;
                }
            }
            assert_int_equal(places, n); // in 2 n rounds everywhere
        }
    }
}

// ---- intervals ----

static double uniform(uint64_t * state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double) (*state >> 11) / 9007199254740992.0;
}

static void test_interval_covers(void ** state) {
    (void) state;
    uint64_t random = 42;
    for (unsigned n = 5; n <= 30; n += 5) {
        unsigned covered = 0, trials    = 4000;
        double   values[30], confidence = 0;
        for (unsigned t = 0; t < trials; t++) {
            for (unsigned i = 0; i < n; i++) values[i] = -log(1 - uniform(&random)); // skewed: median log 2
            struct ggs_median interval = ggs_sample_interval(values, n);
            assert_true(interval.low <= interval.median && interval.median <= interval.high);
            covered += interval.low <= log(2) && log(2) <= interval.high;
            confidence = interval.confidence;
        }
        assert_true(n >= 6 ? confidence >= 0.95 : fabs(confidence - 0.9375) < 1e-9);
        assert_true(fabs((double) covered / trials - confidence) < 0.015);
    }
    assert_true(isnan(ggs_sample_interval(NULL, 0).median));
}

// ---- the runner ----

struct scene {
    struct ggs_trials *  trials;
    unsigned             done, stop_after;
    const char * const * late; // a program that joins after the first trial
    char                 folder[64];
};

static int count(void * context, const struct ggs_trial * trial, struct ggs_error * error) {
    struct scene * scene = context;
    (void) trial;
    if (++scene->done == 1 && scene->late != NULL) {
        struct ggs_variant late = {.name = "late", .program = scene->late, .timed = true};
        assert_int_equal(ggs_trials_add(scene->trials, &late, error), 2);
    }
    if (scene->done == scene->stop_after) kill(getpid(), SIGINT);
    return 0;
}

static void open_scene(struct scene * scene, bool tolerates, const char * const * a, const char * const * b) {
    struct ggs_error error;
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/ggscope-trials-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    struct ggs_trials_settings settings = {
        .folder = scene->folder, .tolerates = tolerates, .after = count, .context = scene, .seed = 1};
    assert_int_equal(ggs_trials_new(&scene->trials, &settings, &error), 0);
    struct ggs_variant one = {.name = "a", .program = a, .timed = true, .warm_up = true};
    struct ggs_variant two = {.name = "b", .program = b, .timed = true};
    assert_int_equal(ggs_trials_add(scene->trials, &one, &error), 0);
    assert_int_equal(ggs_trials_add(scene->trials, &two, &error), 1);
}

static const char *const yes[] = {"true", NULL}, *const no[] = {"sh", "-c", "echo no >&2; exit 3", NULL};

static void close_scene(struct scene * scene) {
    ggs_trials_free(scene->trials);
    assert_int_equal(rmdir(scene->folder), 0); // timed runs leave nothing behind
}

static void test_runner_counts_and_grows(void ** state) {
    (void) state;
    struct ggs_error error;
    struct scene     scene = {.late = yes};
    unsigned         n;
    double           values[8];
    int              wall = ggs_trial_figure_find("wall_ns");
    open_scene(&scene, false, yes, yes);
    assert_int_equal(ggs_trials_round(scene.trials, &error), 0);
    assert_int_equal(scene.done, 2); // who came late waits for the next round
    ggs_trials_retire(scene.trials, 1);
    assert_int_equal(ggs_trials_round(scene.trials, &error), 0);
    assert_int_equal(scene.done, 4);
    const struct ggs_trial * list = ggs_trials_list(scene.trials, &n);
    assert_int_equal(n, 4);
    for (unsigned i = 0; i < n; i++) assert_int_equal(list[i].outcome, GGS_TRIAL_DONE);
    assert_int_equal(ggs_trials_values(scene.trials, 0, (unsigned) wall, values, 8), 2);
    assert_int_equal(ggs_trials_values(scene.trials, 1, (unsigned) wall, values, 8), 1);
    assert_int_equal(ggs_trials_values(scene.trials, 2, (unsigned) wall, values, 8), 1);
    assert_true(values[0] > 0);
    assert_false(isnan(ggs_trials_ratio(scene.trials, 0, 1, (unsigned) wall).value));
    assert_true(isnan(ggs_trials_ratio(scene.trials, 1, 2, (unsigned) wall).value)); // no round has both
    close_scene(&scene);
}

static void test_failure_is_an_error_or_a_result(void ** state) {
    (void) state;
    struct ggs_error error;
    struct scene     scene = {0};
    unsigned         n;
    open_scene(&scene, false, yes, no);
    assert_int_equal(ggs_trials_round(scene.trials, &error), GGS_UNSUPPORTED);
    assert_string_equal(error.text, "a run of the program failed with status 3: no");
    close_scene(&scene);
    open_scene(&scene, true, yes, no);
    assert_int_equal(ggs_trials_round(scene.trials, &error), 0);
    const struct ggs_trial * list = ggs_trials_list(scene.trials, &n);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(list[i].outcome, list[i].variant == 1 ? GGS_TRIAL_FAILED : GGS_TRIAL_DONE);
        assert_int_equal(list[i].status, list[i].variant == 1 ? 3 : 0);
    }
    close_scene(&scene);
}

static void test_a_signal_leaves_what_is_done(void ** state) {
    (void) state;
    struct ggs_error error;
    struct scene     scene = {.stop_after = 3};
    unsigned         n;
    signal(SIGINT, SIG_DFL); // a shell's background jobs ignore it, and what is ignored stops nothing
    open_scene(&scene, false, yes, yes);
    assert_int_equal(ggs_trials_round(scene.trials, &error), 0);
    assert_int_equal(ggs_trials_round(scene.trials, &error), 1);
    assert_int_equal(ggs_trials_stopped(scene.trials), SIGINT);
    ggs_trials_list(scene.trials, &n);
    assert_int_equal(n, 3);
    close_scene(&scene);
}

static void know(struct ggs_trials * trials, unsigned variant, unsigned round, double value) {
    struct ggs_error error;
    struct ggs_trial trial = {.variant = variant, .round = round, .others = -1};
    trial.values[0]        = value;
    assert_int_equal(ggs_trials_add_finished(trials, &trial, &error), 0);
}

static void test_decides(void ** state) {
    (void) state;
    struct scene scene = {0};
    open_scene(&scene, false, yes, yes);
    for (unsigned round = 0; round < 8; round++) {
        double noise = 0.01 * (round % 3);
        know(scene.trials, 0, round, 100 + noise);
        know(scene.trials, 1, round, 110 + noise);
        know(scene.trials, 2, round, 100 + 0.01 * ((round + 1) % 3));
        bool enough = round >= 4;
        assert_int_equal(ggs_trials_decided(scene.trials, 0, 1, 2, 0, 0.005), enough); // they differ
        assert_int_equal(ggs_trials_decided(scene.trials, 0, 2, 2, 0, 0.005), enough); // they do not
        assert_false(ggs_trials_decided(scene.trials, 0, 2, 2, 0, 0));
    }
    close_scene(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_round_tries_each_variant_once),
        cmocka_unit_test(test_drift_is_no_effect),
        cmocka_unit_test(test_no_variant_keeps_its_place),
        cmocka_unit_test(test_interval_covers),
        cmocka_unit_test(test_runner_counts_and_grows),
        cmocka_unit_test(test_failure_is_an_error_or_a_result),
        cmocka_unit_test(test_a_signal_leaves_what_is_done),
        cmocka_unit_test(test_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
