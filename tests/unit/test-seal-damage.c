// What sealing makes of a spool that is not whole: losses, segments that are damaged or gone, a
// directory that was left half sealed.
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sealing-fixture.h"

// ---- losses and damage ----

static void test_losses(void ** state) {
    (void) state;
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    fixture_lane(&f, 0, 0, 0);
    struct ggs_unit stray = {.run = 1, .node = 0, .begin = f.ticks, .flags = GGS_OP_RUN_ENDED};
    fixture_op(&f, 0, &stray); // of a run that the journal never told
    fixture_run(&f, 2, 1, 0, 1, 0);
    struct ggs_journal_loss loss = {.reason = GGS_LOSS_SPACE, .count = 12, .run = 2, .begin = f.ticks, .end = f.ticks};
    fixture_record(&f, GGS_JOURNAL_LOSS, &loss, sizeof(loss), NULL);
    stray.run = 2, stray.node = TINY_NODES; // no such node
    fixture_op(&f, 0, &stray);
    fixture_run_end(&f, 2);
    stray.run = 3;
    fixture_op(&f, 0, &stray);
    struct ggs_seal_result result;
    struct ggs_reader *    reader = seal_and_open(&f, folder, NULL, &result);
    assert_int_equal(result.lost, 14);
    assert_int_equal(result.damaged, 1);
    struct ggs_loss * losses = READ(reader, GGS_TABLE_LOSSES, ggs_loss, &n);
    assert_int_equal(n, 3);
    assert_int_equal(losses[0].reason, GGS_LOSS_SPACE);
    assert_int_equal(losses[0].count, 12);
    assert_int_equal(losses[1].reason, GGS_LOSS_UNMATCHED);
    assert_int_equal(losses[1].count, 2);
    assert_int_equal(losses[2].reason, GGS_LOSS_DAMAGED);
    free(losses);
    struct ggs_run * runs = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(runs[0].lost, 12);
    free(runs);
    ggs_reader_close(reader);
}

// The ring policy gives up the oldest segments of a lane: the runs they held are partial, and no
// hook is blamed.
static void test_segments_given_up(void ** state) {
    (void) state;
    size_t n;
    f.segment = 4096; // some 12 runs of 10 units on two lanes
    fixture_process(&f);
    tiny_graph(&f, 1);
    for (uint64_t run = 1; run <= 100; run++) tiny_run(&f, run, 1, 0, 2, 0, 0, NULL, 0);
    for (unsigned lane = 0; lane < 2; lane++) {
        char * gone = scratch_path(folder, lane == 0 ? "spool/lane-000-0000.seg" : "spool/lane-001-0000.seg");
        assert_int_equal(unlink(gone), 0);
        free(gone);
    }
    struct ggs_seal_result result;
    struct ggs_reader *    reader = seal_and_open(&f, folder, NULL, &result);
    struct ggs_run *       runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(n, 100);
    assert_int_equal(runs[0].flags, GGS_RUN_PARTIAL);
    assert_int_equal(runs[0].op_runs, 0);
    assert_int_equal(runs[0].cut, 6);
    assert_int_equal(runs[99].flags, 0);
    assert_int_equal(runs[99].executed, 5);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(runs[i].unseen, 0);
        assert_true((runs[i].flags & GGS_RUN_PARTIAL) != 0 || runs[i].op_runs == 10);
    }
    struct ggs_loss * losses = READ(reader, GGS_TABLE_LOSSES, ggs_loss, &(size_t){0});
    assert_int_equal(losses[0].reason, GGS_LOSS_RING);
    assert_true(result.lost > 0);
    free(losses);
    free(runs);
    ggs_reader_close(reader);
}

// Whatever bytes the segments hold, sealing ends and the trace can be read.
static void test_garbage(void ** state) {
    (void) state;
    static const int32_t tokens[] = {1, 2, 3};
    unsigned             seed     = 12345;
    fixture_process(&f);
    tiny_graph(&f, 1);
    struct ggs_journal_delta delta = {2, 1, 0};
    fixture_record(&f, GGS_JOURNAL_GRAPH_DELTA, &delta, sizeof(delta), NULL);
    fixture_decode(&f, 1, 1, 3, tokens, 0, 0, 1);
    tiny_run(&f, 1, 1, 1, 2, 0, 3, tokens, 0);
    uint64_t journal_used = f.journal.used, lane_used = f.lanes[0].used;
    fixture_close(&f);
    char * journal = scratch_path(folder, "spool/journal-0000.seg");
    char * lane    = scratch_path(folder, "spool/lane-000-0000.seg");
    char * spool   = scratch_path(folder, "spool");
    char * trace   = scratch_path(folder, "garbage.ggs");
    for (int round = 0; round < 300; round++) {
        const char * path = round % 3 == 0 ? lane : journal;
        uint64_t     used = round % 3 == 0 ? lane_used : journal_used;
        int          fd   = open(path, O_RDWR);
        off_t        at   = (off_t) (rand_r(&seed) % used);
        uint8_t      old[8], new[8];
        assert_true(fd >= 0 && pread(fd, old, 8, at) == 8);
        for (int i = 0; i < 8; i++)
            new[i] = (uint8_t) (round % 2 ? rand_r(&seed) : (rand_r(&seed) % 4 ? old[i] : 0xff));
        assert_int_equal(pwrite(fd, new, 8, at), 8);
        struct ggs_error        error;
        struct ggs_reader *     reader;
        struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true};
        if (ggs_seal_spool(spool, trace, NULL, &options, NULL, &error) != 0)
            fail_msg("round %d: %s", round, error.text);
        assert_int_equal(ggs_reader_open(&reader, trace, &error), 0);
        if (ggs_reader_verify(reader, NULL, NULL, &error) != 0) fail_msg("round %d: %s", round, error.text);
        ggs_reader_close(reader);
        assert_int_equal(pwrite(fd, old, 8, at), 8);
        close(fd);
    }
    free(journal);
    free(lane);
    free(spool);
    free(trace);
}

// The CPU computes it, but there was no lane for it: it is not opaque, all of it was lost.
static void test_run_without_a_lane(void ** state) {
    (void) state;
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    fixture_run(&f, 1, 1, 0, 2, UINT32_MAX);
    struct ggs_journal_loss loss = {.reason = GGS_LOSS_SLOTS, .count = 10, .run = 1, .begin = f.ticks};
    fixture_advance(&f, 1000);
    loss.end = f.ticks;
    fixture_record(&f, GGS_JOURNAL_LOSS, &loss, sizeof(loss), NULL);
    fixture_run_end(&f, 1);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_run *    runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(runs[0].flags, GGS_RUN_PARTIAL);
    assert_int_equal(runs[0].slot, -1);
    assert_int_equal(runs[0].opaque, 0);
    assert_int_equal(runs[0].cut + runs[0].empty, runs[0].nodes);
    assert_int_equal(runs[0].lost, 10);
    struct ggs_loss * losses = READ(reader, GGS_TABLE_LOSSES, ggs_loss, &n);
    assert_int_equal(losses[0].run, 1);
    assert_int_equal(losses[0].end_ns - losses[0].begin_ns, 1000);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_LOD), 0);
    free(runs);
    free(losses);
    ggs_reader_close(reader);
}

// A header that gives less than its own size: the segment is damaged, and nothing beyond it is
// read.
static void test_header_size(void ** state) {
    (void) state;
    static const int32_t tokens[] = {1};
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_run(&f, 1, 1, 0, 1, 0, 1, tokens, 0);
    fixture_close(&f);
    char * lane  = scratch_path(folder, "spool/lane-000-0000.seg");
    char * spool = scratch_path(folder, "spool");
    char * trace = scratch_path(folder, "size.ggs");
    for (uint64_t size = 0; size < sizeof(struct ggs_spool_header); size += 7) {
        struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true};
        struct ggs_seal_result  result;
        struct ggs_error        error;
        int                     fd = open(lane, O_RDWR);
        assert_int_equal(pwrite(fd, &size, sizeof(size), offsetof(struct ggs_spool_header, size)), sizeof(size));
        close(fd);
        assert_int_equal(ggs_seal_spool(spool, trace, NULL, &options, &result, &error), 0);
        assert_int_equal(result.damaged, 1);
        assert_int_equal(result.op_runs, 0);
    }
    free(lane);
    free(spool);
    free(trace);
}

// A lane that was cut off within its first units.
static void test_cut_lane(void ** state) {
    (void) state;
    static const int32_t tokens[] = {1};
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_run(&f, 1, 1, 0, 1, 0, 1, tokens, 0);
    fixture_close(&f);
    char * lane  = scratch_path(folder, "spool/lane-000-0000.seg");
    char * spool = scratch_path(folder, "spool");
    char * trace = scratch_path(folder, "cut.ggs");
    for (off_t units = 3 * GGS_SPOOL_UNIT; units >= 0; units--) {
        struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true};
        struct ggs_seal_result  result;
        struct ggs_error        error;
        assert_int_equal(truncate(lane, (off_t) sizeof(struct ggs_spool_header) + units), 0);
        assert_int_equal(ggs_seal_spool(spool, trace, NULL, &options, &result, &error), 0);
        assert_true(result.op_runs < 3);
    }
    free(lane);
    free(spool);
    free(trace);
}

// ---- the directory ----

static bool exists(const char * name) {
    char *      path = scratch_path(folder, name);
    struct stat info;
    bool        there = lstat(path, &info) == 0;
    free(path);
    return there;
}

static void test_directory(void ** state) {
    (void) state;
    struct ggs_seal_result result;
    struct ggs_error       error;
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_run(&f, 1, 1, 0, 2, 0, 0, NULL, 0);
    fixture_close(&f);
    // the spool lies elsewhere
    char * spool     = scratch_path(folder, "spool");
    char * elsewhere = scratch_path(folder, "elsewhere");
    char * trace     = scratch_path(folder, "trace.ggs");
    char * json      = scratch_path(folder, "experiment.json");
    assert_int_equal(rename(spool, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, spool), 0);
    FILE * file = fopen(json, "w");
    fputs("{\"id\": 1}\n", file);
    fclose(file);
    // an earlier seal died half way
    file = fopen(trace, "w");
    fputs("GGSCOPE1", file);
    fclose(file);

    struct ggs_seal_options options = {
        .size = sizeof(options), .uuid = "0123456789abcde", .start_monotonic_ns = FIXTURE_FIRST_NS - 50};
    assert_int_equal(ggs_seal(folder, &options, &result, &error), 0);
    assert_false(result.already);
    assert_true(exists("trace.ggs"));
    assert_false(exists("spool"));
    assert_false(exists("elsewhere"));
    assert_false(exists("trace.ggs.tmp"));
    struct stat info;
    assert_int_equal(stat(trace, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(info.st_size, result.bytes);
    struct ggs_reader * reader;
    assert_int_equal(ggs_reader_open(&reader, folder, &error), 0);
    assert_memory_equal(ggs_reader_uuid(reader), "0123456789abcde", 16);
    assert_string_equal(ggs_reader_experiment(reader), "{\"id\": 1}\n");
    struct ggs_run run;
    assert_int_equal(ggs_reader_row(reader, GGS_TABLE_RUNS, 0, &run, &error), 0);
    assert_int_equal(run.begin_ns, 50);
    ggs_reader_close(reader);

    assert_int_equal(ggs_seal(folder, &options, &result, &error), 0);
    assert_true(result.already);
    assert_int_equal(unlink(trace), 0);
    assert_int_equal(ggs_seal(folder, &options, &result, &error), GGS_ABSENT);
    free(spool);
    free(elsewhere);
    free(trace);
    free(json);
}

// A seal that died after the trace had its name: what is left of the spool must not replace it.
static void test_half_removed_spool(void ** state) {
    (void) state;
    struct ggs_seal_result  result;
    struct ggs_error        error;
    struct ggs_seal_options options = {.size = sizeof(options), .keep_spool = true};
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_run(&f, 1, 1, 0, 2, 0, 0, NULL, 0);
    fixture_close(&f);
    assert_int_equal(ggs_seal(folder, &options, &result, &error), 0);
    assert_true(exists("spool"));
    char * journal = scratch_path(folder, "spool/journal-0000.seg");
    assert_int_equal(unlink(journal), 0);
    free(journal);
    assert_int_equal(ggs_seal(folder, NULL, &result, &error), 0);
    assert_true(result.already);
    assert_false(exists("spool"));
    struct ggs_reader * reader;
    assert_int_equal(ggs_reader_open(&reader, folder, &error), 0);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_OP_RUNS), 10);
    ggs_reader_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, sealing_setup, sealing_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(losses),   TEST(segments_given_up),  TEST(garbage),   TEST(header_size),
        TEST(cut_lane), TEST(run_without_a_lane), TEST(directory), TEST(half_removed_spool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
