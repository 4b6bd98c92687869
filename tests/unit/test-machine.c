// Unit tests of src/analyze/machine and of the bins that timelines are made of: stalls by lane, amounts over time, what happened where.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/machine/faults.h"
#include "analyze/machine/machine-heat.h"
#include "analyze/machine/stalls.h"
#include "analyze/ops/heat.h"
#include "analyze/ops/lane-bins.h"
#include "analyze/walk/time-bins.h"
#include "recording-fixture.h"

static struct ggs_error error;

// ---- bins ----

static void test_an_op_over_many_bins(void ** state) {
    (void) state;
    struct ggs_lane_bins bins;
    assert_int_equal(ggs_lane_bins_init(&bins, 2, 1000, 2000, 8, &error), 0);
    assert_int_equal(bins.begin_ns, 768);
    assert_int_equal(bins.n, 5); // 768, 1024, ..., 1792
    struct ggs_op_run a = {
        .run = 3, .node = 7, .begin_ns = 800, .duration_ns = 1000, .inner_wait_ns = 100, .wait_ns = 50};
    struct ggs_op_run b = {.run = 3, .node = 8, .begin_ns = 1850, .duration_ns = 20};
    ggs_lane_bins_add(&bins, 1, &a);
    ggs_lane_bins_add(&bins, 1, &b);
    ggs_lane_bins_stall(&bins, 1, 900, 700);
    const struct ggs_lane_bin * lane = &bins.bins[5];
    double                      busy = 0, wait = 0, stalled = 0;
    for (int i = 0; i < 5; i++) busy += lane[i].busy_ns, wait += lane[i].wait_ns, stalled += lane[i].stalled_ns;
    assert_int_equal((int) busy, 920);
    assert_int_equal((int) wait, 150);
    assert_int_equal((int) stalled, 700);
    // No op begins in the second bin, and it says all the same which one it belongs to, how long that is, and how long it stood still.
    assert_int_equal(lane[1].count, 0);
    assert_int_equal(lane[1].longest_run, 3);
    assert_int_equal(lane[1].longest_node, 7);
    assert_int_equal((int) lane[1].longest_ns, 1000);
    assert_int_equal((int) lane[1].stalled_ns, 256);
    // The last bin has 8 ns of the first op and all of the second.
    assert_int_equal(lane[4].longest_node, 8);
    assert_int_equal(lane[4].count, 1);
    assert_int_equal(bins.bins[0].longest_run, 0); // the other lane
    ggs_lane_bins_release(&bins);
}

static void test_ops_outside_of_the_bins(void ** state) {
    (void) state;
    struct ggs_lane_bins bins;
    assert_int_equal(ggs_lane_bins_init(&bins, 1, 1024, 2048, 9, &error), 0);
    ggs_lane_bins_add(&bins, 0, &(struct ggs_op_run){.run = 1, .begin_ns = 0, .duration_ns = 500, .wait_ns = 600});
    ggs_lane_bins_add(&bins, 0, &(struct ggs_op_run){.run = 2, .begin_ns = 5000, .duration_ns = UINT64_MAX});
    assert_int_equal((int) bins.bins[0].wait_ns, 76); // reaches in
    assert_int_equal(bins.bins[0].longest_run, 0);
    assert_int_equal(bins.bins[0].count + bins.bins[1].count, 0);
    ggs_lane_bins_release(&bins);
}

static void test_amounts_over_time(void ** state) {
    (void) state;
    double               bins[4] = {0};
    struct ggs_time_bins over    = {100, 500, 4, bins, sizeof(bins[0])};
    ggs_time_bins_add(&over, 150, 350, 200);
    ggs_time_bins_add(&over, 0, 200, 20);    // half of it before the begin
    ggs_time_bins_add(&over, 450, 450, 7);   // a moment
    ggs_time_bins_add(&over, 600, 700, 999); // beyond
    assert_true(bins[0] > 59.9 && bins[0] < 60.1);
    assert_true(bins[1] > 99.9 && bins[1] < 100.1);
    assert_true(bins[2] > 49.9 && bins[2] < 50.1);
    assert_true(bins[3] > 6.9 && bins[3] < 7.1);
}

// ---- recordings ----

static void fault(struct recording * r, int64_t begin_ns, uint64_t duration_ns, uint64_t os_thread, uint64_t offset,
                  uint64_t run, uint64_t node, int64_t step, uint64_t kind) {
    recording_row(r, GGS_TABLE_FAULTS,
                  &(struct ggs_fault){.begin_ns    = begin_ns,
                                      .duration_ns = duration_ns,
                                      .kind        = kind,
                                      .os_thread   = os_thread,
                                      .file        = offset == 0 ? 0 : 1,
                                      .file_offset = offset,
                                      .run         = run,
                                      .node        = node,
                                      .step        = step});
}

static void test_stalls(void ** state) {
    (void) state;
    struct recording      r;
    struct ggs_trace      trace;
    struct ggs_stall_walk walk;
    small_recording(&r);
    // On the second thread, outside of ops, on a thread of no op, on the first thread of the second run.
    fault(&r, SMALL_BEGIN + 1, 10, RECORDING_OS_THREAD + 1, 1000, 1, 0, 0, GGS_FAULT_MAJOR);
    fault(&r, SMALL_BEGIN + 2, 20, RECORDING_OS_THREAD, 0, 0, 0, -1, GGS_FAULT_MINOR);
    fault(&r, SMALL_BEGIN + 3, 30, 424242, 3000, 1, 3, 0, GGS_FAULT_MINOR);
    fault(&r, SMALL_BEGIN + SMALL_APART, 40, RECORDING_OS_THREAD, 3100, 2, 3, 1, GGS_FAULT_MINOR);
    fault(&r, SMALL_BEGIN + SMALL_APART + 1, 50, RECORDING_OS_THREAD + 1, 3100, 1, 3, 0, GGS_FAULT_MINOR); // came late
    recording_done(&r, &trace);
    static const struct { uint64_t ns, thread; } wanted[] = {{10, 1}, {40, 0}, {50, 1}};
    assert_int_equal(ggs_stall_walk_open(&walk, &trace, 0, INT64_MAX, &error), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(ggs_stall_walk_next(&walk, &error), 1);
        assert_int_equal(walk.fault.duration_ns, wanted[i].ns);
        assert_int_equal(walk.thread, wanted[i].thread);
        assert_int_equal(walk.slot, 0);
    }
    assert_int_equal(ggs_stall_walk_next(&walk, &error), 0);
    ggs_stall_walk_close(&walk);

    // A stall counts in every bin that it lasts through, the fault in the first.
    struct ggs_fault_bin bins[4];
    assert_int_equal(ggs_fault_timeline(&trace, SMALL_BEGIN + 1, SMALL_BEGIN + 9, bins, 4, &error), 0);
    assert_int_equal(bins[0].major, 1);
    assert_int_equal(bins[1].major + bins[2].major, 0);
    assert_true(bins[3].stalled_ns > 5.9 && bins[3].stalled_ns < 6.1); // three faults at once
    recording_close(&r, &trace);
}

static void test_heat_by_range(void ** state) {
    (void) state;
    struct recording        r;
    struct ggs_trace        trace;
    struct ggs_model_map    map;
    struct ggs_machine_heat heat;
    small_recording(&r);
    fault(&r, SMALL_BEGIN + 1, 10, 0, 1000, 1, 0, 0, GGS_FAULT_MAJOR);
    fault(&r, SMALL_BEGIN + 2, 20, 0, 3000, 1, 3, 0, GGS_FAULT_MINOR);
    fault(&r, SMALL_BEGIN + 3, 30, 0, 3200, 1, 3, 1, GGS_FAULT_MINOR);
    recording_done(&r, &trace);
    assert_int_equal(ggs_model_map_make(&map, &trace, &error), 0);
    assert_int_equal(ggs_machine_heat_compute(&heat, &trace, &map, 0, 0, &error), 0);
    assert_true(heat.faults);
    assert_false(heat.pages);
    assert_int_equal(heat.stretch_bytes, heat.page_bytes); // a small file: page by page
    assert_int_equal(heat.n_stretches, 1);
    assert_int_equal(heat.stretch[0].file, 1);
    assert_int_equal(heat.stretch[0].offset, 0);
    assert_int_equal(heat.stretch[0].sum.major, 1);
    assert_int_equal(heat.stretch[0].sum.minor, 1); // the third is of another token
    assert_int_equal(heat.stretch[0].sum.stalled_ns, 30);
    ggs_machine_heat_release(&heat);
    ggs_model_map_release(&map);
    recording_close(&r, &trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_op_over_many_bins), cmocka_unit_test(test_ops_outside_of_the_bins),
        cmocka_unit_test(test_amounts_over_time),    cmocka_unit_test(test_stalls),
        cmocka_unit_test(test_heat_by_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
