// Unit tests of src/analyze/check: what is found to be wrong, and what is not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/check/check.h"
#include "recording-fixture.h"
#include "trace-fixture.h"

static struct ggs_error error;

static const struct ggs_check * result(const struct ggs_checks * checks, const char * name) {
    for (uint64_t i = 0; i < checks->n; i++)
        if (strcmp(checks->check[i].name, name) == 0) return &checks->check[i];
    fail_msg("no check %s", name);
    return NULL;
}

// A recording of which everything is right.
static void good_recording(struct recording * r) {
    small_recording(r);
    for (uint64_t i = 0; i < 3; i++)
        recording_row(r, GGS_TABLE_TOKENS, &(struct ggs_token){.step = i < 2 ? 0 : 1, .index = i % 2, .token = 1});
}

static void run_checks(struct recording * r, struct ggs_checks * checks) {
    recording_write(r);
    assert_int_equal(ggs_checks_run(checks, r->folder, &error), 0);
}

static void end(struct recording * r, struct ggs_checks * checks) {
    ggs_checks_release(checks);
    recording_close(r, NULL);
}

static void test_good(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_checks c;
    good_recording(&r);
    run_checks(&r, &c);
    for (uint64_t i = 0; i < c.n; i++)
        if (c.check[i].status != GGS_CHECK_OK && c.check[i].status != GGS_CHECK_SKIPPED)
            fail_msg("%s: %s", c.check[i].name, c.check[i].text);
    assert_false(c.failed);
    assert_string_equal(result(&c, "time in ops")->text, "52.0 % of the time of graph runs");
    end(&r, &c);
}

static void test_cut_off_copies_fail(void ** state) {
    (void) state;
    for (int i = 0; i < 4; i++) {
        struct recording  r;
        struct ggs_checks c;
        struct stat       info;
        good_recording(&r);
        recording_write(&r);
        assert_int_equal(fstat(r.fd, &info), 0);
        assert_int_equal(ftruncate(r.fd, i == 0 ? 64 : info.st_size * i / 4), 0);
        assert_int_equal(ggs_checks_run(&c, r.folder, &error), 0);
        assert_true(c.failed);
        assert_int_equal(result(&c, "checksums")->status, GGS_CHECK_FAIL);
        end(&r, &c);
    }
}

static void test_losses(void ** state) {
    (void) state;
    static const struct {
        uint64_t              reason, other;
        enum ggs_check_status status;
        const char *          text;
    } cases[] = {
        {GGS_LOSS_SPACE, 0, GGS_CHECK_FAIL, "1 record lost (1 without room)"},
        {GGS_LOSS_RING, 0, GGS_CHECK_INTERRUPTED, "1 record was overwritten by newer ones, as asked for"},
        {GGS_LOSS_FAULTS, 0, GGS_CHECK_OK, "0 records lost"},
        {GGS_LOSS_DAMAGED, GGS_LOSS_RING, GGS_CHECK_FAIL, "5 records lost (4 overwritten by newer ones, 1 damaged)"},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct recording  r;
        struct ggs_checks c;
        good_recording(&r);
        recording_row(&r, GGS_TABLE_LOSSES, &(struct ggs_loss){.reason = cases[i].reason, .count = 1});
        if (cases[i].other != 0)
            recording_row(&r, GGS_TABLE_LOSSES, &(struct ggs_loss){.reason = cases[i].other, .count = 4});
        run_checks(&r, &c);
        assert_string_equal(result(&c, "no losses")->text, cases[i].text);
        assert_int_equal(result(&c, "no losses")->status, cases[i].status);
        assert_int_equal(c.failed, cases[i].status == GGS_CHECK_FAIL); // what a ring overwrote was asked for
        end(&r, &c);
    }
}

static void test_shares_of_less_than_all_time(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_checks c;
    good_recording(&r);
    struct ggs_run run = {.run      = 3,
                          .graph    = 1,
                          .step     = -1,
                          .begin_ns = 5000,
                          .end_ns   = 9000,
                          .flags    = GGS_RUN_OPAQUE,
                          .nodes    = 6,
                          .empty    = 1,
                          .opaque   = 5};
    recording_run(&r, &run);
    run_checks(&r, &c);
    assert_int_equal(result(&c, "time in ops")->status, GGS_CHECK_WARNING);
    assert_non_null(strstr(result(&c, "time in ops")->text, "10.4 % of the time of graph runs"));
    assert_non_null(strstr(result(&c, "time in ops")->text, "5 nodes"));
    end(&r, &c);
    good_recording(&r); // a run that took long, and only its first op is known
    run.flags = 0, run.opaque = 0, run.executed = 1, run.skipped = 4, run.op_runs = 1;
    recording_run(&r, &run);
    recording_op_run(&r, 3, 0, 0, 5000, 10, 0, 0, 0);
    run_checks(&r, &c);
    assert_int_equal(result(&c, "time in ops")->status, GGS_CHECK_WARNING);
    assert_non_null(strstr(result(&c, "time in ops")->text, "the rest lies before, between and after ops"));
    end(&r, &c);
}

static void test_waits_that_were_not_seen(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_checks c;
    good_recording(&r);
    recording_run(&r, &(struct ggs_run){.run = 3, .graph = 1, .step = -1, .flags = GGS_RUN_NO_WAITS});
    run_checks(&r, &c);
    assert_int_equal(result(&c, "waits")->status, GGS_CHECK_WARNING);
    assert_false(c.failed);
    end(&r, &c);
}

// A device's run that nobody waited for: its end is that of the call that submitted it.
static void test_results_that_were_not_seen(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_checks c;
    good_recording(&r);
    recording_run(&r, &(struct ggs_run){.run = 3, .graph = 1, .step = -1, .flags = GGS_RUN_RESULTS_UNSEEN});
    run_checks(&r, &c);
    assert_int_equal(result(&c, "results")->status, GGS_CHECK_WARNING);
    assert_non_null(strstr(result(&c, "results")->text, "the end of 1 of 3 graph runs was not seen"));
    assert_false(c.failed);
    end(&r, &c);
}

// The file has 10,000 bytes and ends in the middle of a page, which can be touched as a whole.
static void test_faults_at_the_end_of_a_file(void ** state) {
    (void) state;
    static const struct {
        uint64_t              offset;
        enum ggs_check_status status;
    } cases[] = {{9999, GGS_CHECK_OK}, {10000, GGS_CHECK_OK}, {12287, GGS_CHECK_OK}, {12288, GGS_CHECK_FAIL}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct recording  r;
        struct ggs_checks c;
        good_recording(&r);
        recording_row(&r, GGS_TABLE_FAULTS,
                      &(struct ggs_fault){.begin_ns = 1, .file = 1, .file_offset = cases[i].offset});
        run_checks(&r, &c);
        assert_int_equal(result(&c, "page faults")->status, cases[i].status);
        end(&r, &c);
    }
}

static void test_what_is_wrong(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_checks c;
    good_recording(&r); // six nodes, of which five are accounted for
    recording_run(&r, &(struct ggs_run){.run = 3, .graph = 1, .step = -1, .nodes = 6, .executed = 5});
    run_checks(&r, &c);
    assert_int_equal(result(&c, "op coverage")->status, GGS_CHECK_FAIL);
    end(&r, &c);
    good_recording(&r); // an op that begins before the one before it ended
    recording_run(&r, &(struct ggs_run){.run = 3, .graph = 1, .step = -1, .op_runs = 2});
    recording_op_run(&r, 3, 0, 0, 5000, 100, 0, 0, 0);
    recording_op_run(&r, 3, 1, 0, 5050, 100, 0, 0, 0);
    run_checks(&r, &c);
    assert_int_equal(result(&c, "times")->status, GGS_CHECK_FAIL);
    end(&r, &c);
    good_recording(&r); // an op that ends long after its run
    recording_run(&r,
                  &(struct ggs_run){.run = 3, .graph = 1, .step = -1, .begin_ns = 5000, .end_ns = 6000, .op_runs = 1});
    recording_op_run(&r, 3, 0, 0, 5000, 1800000000, 0, 0, 0);
    run_checks(&r, &c);
    assert_int_equal(result(&c, "times")->status, GGS_CHECK_FAIL);
    assert_non_null(strstr(result(&c, "times")->text, "1 end after their graph run"));
    end(&r, &c);
    good_recording(&r); // a weight that reaches beyond the end of its file
    recording_tensor(&r, "blk.0.ffn_up.weight", F32, 8, 4, 1, in_file(1, 9990));
    run_checks(&r, &c);
    assert_int_equal(result(&c, "operands inside")->status, GGS_CHECK_FAIL);
    end(&r, &c);
    small_recording(&r); // tokens that no step has
    run_checks(&r, &c);
    assert_int_equal(result(&c, "tokens")->status, GGS_CHECK_FAIL);
    end(&r, &c);
    good_recording(&r); // of another experiment
    char * path = scratch_path(r.folder, "experiment.json");
    FILE * file = fopen(path, "w");
    fputs("{\"experiment_id\": \"ffffffff-0000-0000-0000-000000000000\"}", file);
    fclose(file);
    free(path);
    run_checks(&r, &c);
    assert_int_equal(result(&c, "one experiment")->status, GGS_CHECK_FAIL);
    end(&r, &c);
}

// Opening a FIFO would wait for a writer for ever.
static void test_fifo_beside_the_trace(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_checks c;
    good_recording(&r);
    char * path = scratch_path(r.folder, "experiment.json");
    assert_int_equal(mkfifo(path, 0600), 0);
    free(path);
    run_checks(&r, &c);
    assert_int_equal(result(&c, "one experiment")->status, GGS_CHECK_SKIPPED);
    end(&r, &c);
}

static void test_files_that_are_gone(void ** state) {
    (void) state;
    for (int gone = 0; gone < 2; gone++) {
        struct recording  r;
        struct ggs_checks c;
        good_recording(&r);
        uint64_t file = recording_file(&r, "/nowhere/other.gguf", gone ? 0 : 100);
        recording_tensor(&r, "other.weight", F32, 8, 8, 1, in_file(file, 64));
        run_checks(&r, &c);
        assert_int_equal(result(&c, "operands inside")->status, gone ? GGS_CHECK_SKIPPED : GGS_CHECK_FAIL);
        end(&r, &c);
    }
}

// A graph of ADDs: `ops[i]` of them in layer i.
static void add_layers(struct recording * r, uint64_t graph, const int * ops, int n) {
    for (int layer = 0; layer < n; layer++) {
        for (int i = 0; i < ops[layer]; i++) {
            char name[32];
            snprintf(name, sizeof(name), "l_out-%d", layer);
            uint64_t in = recording_tensor(r, "in", F32, 8, 1, 1, in_buffer(1));
            recording_node(r, graph, OP_ADD, recording_tensor(r, name, F32, 8, 1, 1, in_buffer(1)), in, in, 0);
        }
    }
}

static void test_layers_alike(void ** state) {
    (void) state;
    static const struct {
        int                   ops[8];
        enum ggs_check_status status;
    } cases[] = {
        {{3, 3, 3, 3, 3, 3, 3, 1}, GGS_CHECK_OK},   // the last computes less
        {{3, 3, 3, 2, 3, 3, 3, 1}, GGS_CHECK_FAIL}, // one of the others does
        {{3, 2, 3, 3, 3, 3, 3, 1}, GGS_CHECK_FAIL},
        {{0, 0, 0, 1, 3, 3, 3, 1}, GGS_CHECK_OK}, // the first began on another device
        {{0, 0, 0, 1, 3, 2, 3, 1}, GGS_CHECK_FAIL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct recording  r;
        struct ggs_checks c;
        good_recording(&r);
        add_layers(&r, 2, cases[i].ops, 8);
        run_checks(&r, &c);
        assert_int_equal(result(&c, "layers alike")->status, cases[i].status);
        end(&r, &c);
    }
}

static void test_no_result_is_dropped(void ** state) {
    (void) state;
    struct ggs_checks c = {0};
    for (int i = 0; i < 100; i++) ggs_checks_add(&c, "check", GGS_CHECK_OK, "number %d", i);
    assert_int_equal(c.n, 100);
    assert_string_equal(c.check[99].text, "number 99");
    ggs_checks_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_cut_off_copies_fail),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_shares_of_less_than_all_time),
        cmocka_unit_test(test_waits_that_were_not_seen),
        cmocka_unit_test(test_results_that_were_not_seen),
        cmocka_unit_test(test_faults_at_the_end_of_a_file),
        cmocka_unit_test(test_what_is_wrong),
        cmocka_unit_test(test_fifo_beside_the_trace),
        cmocka_unit_test(test_files_that_are_gone),
        cmocka_unit_test(test_layers_alike),
        cmocka_unit_test(test_no_result_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
