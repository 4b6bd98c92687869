// Sealing a spool while its writer goes on: what a snapshot holds is whole, and what comes later is
// not lost.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sealing-fixture.h"
#include "trace/seal/spool-facts.h"

enum { BEFORE = 5, AFTER = 4 };

static uint32_t slot_after; // where the runs that come meanwhile are computed
static bool     moves_on;   // the lane goes on in a new segment
static bool     journal_too;

// Called after the journal was read for the first time: the program goes on.
static int go_on(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error) {
    (void) context, (void) facts, (void) error;
    for (unsigned i = 0; moves_on && i < 2; i++) f.lanes[i].size = f.lanes[i].used;
    if (journal_too) f.journal.size = f.journal.used;
    for (uint64_t run = BEFORE + 1; run <= BEFORE + AFTER; run++) tiny_run(&f, run, 1, 0, 2, slot_after, 0, NULL, 0);
    return 0;
}

static struct ggs_reader * seal_live(const struct ggs_seal_options * options, struct ggs_seal_result * result) {
    struct ggs_error    error;
    struct ggs_reader * reader;
    char *              spool = scratch_path(folder, "spool");
    char *              trace = scratch_path(folder, "snapshot.ggs");
    if (ggs_seal_spool(spool, trace, NULL, options, result, &error) != 0) fail_msg("%s", error.text);
    assert_int_equal(ggs_reader_open(&reader, trace, &error), 0);
    free(spool);
    free(trace);
    return reader;
}

static void test_runs_meanwhile(void ** state) {
    for (unsigned variant = 0; variant < 8; variant++) {
        size_t n;
        moves_on    = (variant & 1) != 0;
        journal_too = (variant & 2) != 0;
        slot_after  = (variant & 4) != 0;
        fixture_process(&f);
        tiny_graph(&f, 1);
        for (uint64_t run = 1; run <= BEFORE; run++) tiny_run(&f, run, 1, 0, 2, 0, 0, NULL, 0);
        struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true, .facts = go_on};
        struct ggs_seal_result  result;
        struct ggs_reader *     reader = seal_live(&options, &result);
        struct ggs_run *        runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
        assert_int_equal(n, BEFORE);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(runs[i].unseen + runs[i].cut, 0);
            assert_int_equal(runs[i].op_runs, 10);
        }
        assert_int_equal(result.lost + result.damaged + result.interrupted, 0);
        assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_LOSSES), 0);
        free(runs);
        ggs_reader_close(reader);

        // When the program has ended, all of it is there.
        reader = seal_and_open(&f, folder, NULL, &result);
        runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
        assert_int_equal(n, BEFORE + AFTER);
        for (size_t i = 0; i < n; i++) assert_int_equal(runs[i].op_runs, 10);
        assert_int_equal(result.lost, 0);
        free(runs);
        ggs_reader_close(reader);
        sealing_teardown(state);
        sealing_setup(state);
    }
}

// The snapshot's journal ends with a run whose lanes are not named yet.
static int name_lanes(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error) {
    (void) context, (void) facts, (void) error;
    fixture_numbers(&f, GGS_JOURNAL_RUN_THREADS, 2, 1, 0, 0, NULL);
    for (uint32_t node = 0; node < 4; node++)
        fixture_op(&f, 0, &(struct ggs_unit){.type = GGS_UNIT_OP, .run = 2, .node = node, .begin = f.ticks});
    return 0;
}

static void test_run_without_lanes_yet(void ** state) {
    (void) state;
    struct ggs_journal_run  run     = {.run = 2, .graph = 1, .os_thread = 100, .host = 1};
    struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true, .facts = name_lanes};
    struct ggs_seal_result  result;
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_run(&f, 1, 1, 0, 2, 0, 0, NULL, 0);
    run.ticks        = f.ticks;
    run.monotonic_ns = fixture_ns(&f);
    fixture_record(&f, GGS_JOURNAL_RUN, &run, sizeof(run), "CPU");
    struct ggs_reader * reader = seal_live(&options, &result);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_RUNS), 2);
    assert_int_equal(result.interrupted, 1);
    assert_int_equal(result.lost, 0);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_LOSSES), 0);
    ggs_reader_close(reader);
}

// A new segment whose writer has not stored the magic yet: the header's last part.
static void begin_segment(const char * name, uint32_t lane) {
    char *                  path   = scratch_path(folder, name);
    struct ggs_spool_header header = {.version = GGS_SPOOL_VERSION, .lane = lane, .sequence = 1, .size = f.segment};
    int                     fd     = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
    assert_int_equal(ftruncate(fd, (off_t) f.segment), 0);
    close(fd);
    free(path);
}

static void test_segments_begun(void ** state) {
    (void) state;
    struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true};
    struct ggs_seal_result  result;
    fixture_process(&f);
    tiny_graph(&f, 1);
    for (uint64_t run = 1; run <= BEFORE; run++) tiny_run(&f, run, 1, 0, 2, 0, 0, NULL, 0);
    begin_segment("spool/lane-000-0001.seg", 0);
    begin_segment("spool/journal-0001.seg", GGS_SPOOL_JOURNAL);
    struct ggs_reader * reader = seal_live(&options, &result);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_RUNS), BEFORE);
    assert_int_equal(result.lost + result.damaged + result.interrupted, 0);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_LOSSES), 0);
    ggs_reader_close(reader);
}

// ---- the ring policy gives up segments while they are read ----

static char * given_up; // its name
static bool   unlinked;

static int give_up(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error) {
    (void) context, (void) facts, (void) error;
    char * path = scratch_path(folder, given_up);
    int    fd   = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
    close(fd);
    if (unlinked) assert_int_equal(unlink(path), 0);
    free(path);
    return 0;
}

static void test_segments_given_up(void ** state) {
    for (unsigned variant = 0; variant < 2; variant++) {
        size_t n;
        given_up  = "spool/lane-000-0001.seg";
        unlinked  = variant != 0;
        f.segment = 4096;
        fixture_process(&f);
        tiny_graph(&f, 1);
        for (uint64_t run = 1; run <= 100; run++) tiny_run(&f, run, 1, 0, 2, 0, 0, NULL, 0);
        struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true, .facts = give_up};
        struct ggs_seal_result  result;
        struct ggs_reader *     reader = seal_and_open(&f, folder, &options, &result);
        struct ggs_run *        runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
        struct ggs_loss *       losses = READ(reader, GGS_TABLE_LOSSES, ggs_loss, &(size_t){0});
        assert_int_equal(n, 100);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(runs[i].unseen, 0);
            assert_true((runs[i].flags & GGS_RUN_PARTIAL) != 0 || runs[i].op_runs == 10);
        }
        assert_int_equal(losses[0].reason, GGS_LOSS_RING);
        assert_int_equal(result.damaged, 0);
        free(losses);
        free(runs);
        ggs_reader_close(reader);
        sealing_teardown(state);
        sealing_setup(state);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs_meanwhile, sealing_setup, sealing_teardown),
        cmocka_unit_test_setup_teardown(test_run_without_lanes_yet, sealing_setup, sealing_teardown),
        cmocka_unit_test_setup_teardown(test_segments_begun, sealing_setup, sealing_teardown),
        cmocka_unit_test_setup_teardown(test_segments_given_up, sealing_setup, sealing_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
