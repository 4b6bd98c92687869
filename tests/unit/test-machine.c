// Unit tests of src/analyze/machine and of the bins that timelines are made of: stalls by lane,
// amounts over time, what happened where.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/lanes/lane-bins.h"
#include "analyze/machine/faults.h"
#include "analyze/machine/machine-heat.h"
#include "analyze/machine/off-cpu.h"
#include "analyze/machine/stalls.h"
#include "analyze/memory/access-map.h"
#include "analyze/ops/aggregate.h"
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
    // No op begins in the second bin, and it says all the same which one it belongs to, how long
    // that is, and how long it stood still.
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
    // On the second thread, outside of ops, on a thread of no op, on the first thread of the second
    // run.
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

static void off_cpu(struct recording * r, int64_t begin_ns, int64_t end_ns, uint64_t thread, uint64_t kind,
                    uint64_t other, const char * name) {
    recording_row(r, GGS_TABLE_OFF_CPU,
                  &(struct ggs_off_cpu){.begin_ns    = SMALL_BEGIN + begin_ns,
                                        .duration_ns = (uint64_t) (end_ns - begin_ns),
                                        .kind        = kind,
                                        .os_thread   = RECORDING_OS_THREAD + thread,
                                        .other       = other,
                                        .name        = recording_string(r, name)});
}

static void test_threads_without_a_cpu(void ** state) {
    (void) state;
    struct recording          r;
    struct ggs_trace          trace;
    struct ggs_off_cpu_totals totals;
    struct ggs_off_cpu_spans  spans;
    char                      who[80];
    small_recording(&r);
    off_cpu(&r, 110, 130, 1, GGS_OFF_CPU_PREEMPTED, GGS_OTHER_PROGRAM, "cc1"); // both in GET_ROWS
    off_cpu(&r, 120, 140, 0, GGS_OFF_CPU_PREEMPTED, GGS_OTHER_OWN, "small");
    off_cpu(&r, 152, 170, 0, GGS_OFF_CPU_BLOCKED, GGS_OTHER_IDLE, "");      // 5 longer than thread 1 needed
    off_cpu(&r, 255, 264, 0, GGS_OFF_CPU_PREEMPTED, GGS_OTHER_PROGRAM, ""); // waits anyway
    off_cpu(&r, 100, 400, 9, GGS_OFF_CPU_PREEMPTED, GGS_OTHER_PROGRAM, ""); // computes nothing
    recording_done(&r, &trace);
    assert_int_equal(ggs_off_cpu_totals_compute(&totals, &trace, &ggs_totals_all, &error), 0);
    assert_true(totals.recorded && totals.others_seen);
    assert_int_equal(totals.spans, 5);
    assert_int_equal(totals.run_ns, 2 * SMALL_RUN_NS);
    assert_int_equal(totals.lost_ns, 35); // at the same time counts once
    assert_int_equal(totals.preempted_ns, 30);
    assert_int_equal(totals.foreign_ns, 20);
    assert_int_equal(totals.thread_ns, 45);
    assert_int_equal(totals.n_by_op, 2);
    assert_string_equal(totals.by_op[0].name, "GET_ROWS");
    assert_int_equal(totals.by_op[0].lost_ns, 30);
    assert_string_equal(totals.by_op[1].name, "RMS_NORM");
    assert_string_equal(ggs_off_cpu_who(&totals, who, sizeof(who)), "its own threads 44 %, cc1 44 %, nobody 11 %");
    assert_string_equal(ggs_off_cpu_who(&totals, who, 24), "its own threads 44 %");
    ggs_off_cpu_totals_release(&totals);

    // Of a part of the tokens.
    struct ggs_totals_range second = {1, 1, 0};
    assert_int_equal(ggs_off_cpu_totals_compute(&totals, &trace, &second, &error), 0);
    assert_int_equal(totals.run_ns, SMALL_RUN_NS);
    assert_int_equal(totals.lost_ns, 0);
    ggs_off_cpu_totals_release(&totals);

    assert_int_equal(ggs_off_cpu_spans_read(&spans, &trace, 0, INT64_MAX, &error), 0);
    uint64_t process = spans.span[0].process;
    assert_int_equal(
        ggs_off_cpu_spans_within(&spans, process, RECORDING_OS_THREAD, SMALL_BEGIN + 130, SMALL_BEGIN + 160), 18);
    assert_int_equal(ggs_off_cpu_spans_within(&spans, process, RECORDING_OS_THREAD + 2, 0, INT64_MAX), 0);
    ggs_off_cpu_spans_release(&spans);
    recording_close(&r, &trace);

    small_recording(&r); // of an older version
    recording_done(&r, &trace);
    assert_int_equal(ggs_off_cpu_totals_compute(&totals, &trace, &ggs_totals_all, &error), 0);
    assert_false(totals.recorded);
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

// ---- windows ----

static const struct ggs_aggregate_op * op_of(const struct ggs_aggregate * w, const char * name) {
    for (uint64_t i = 0; i < w->n_by_op; i++)
        if (strcmp(w->by_op[i].op, name) == 0) return &w->by_op[i];
    return NULL;
}

static void test_window(void ** state) {
    (void) state;
    struct recording     r;
    struct ggs_trace     trace;
    struct ggs_overview  overview;
    struct ggs_aggregate w;
    struct ggs_totals    t;
    small_recording(&r);
    fault(&r, SMALL_BEGIN + 310, 20, RECORDING_OS_THREAD + 1, 3000, 1, 3, 0, GGS_FAULT_MAJOR);
    recording_done(&r, &trace);
    assert_int_equal(ggs_overview_compute(&overview, &trace, &error), 0);
    // In the middle of MUL_MAT, which both threads compute: 300 to 350, and 305 to 345.
    assert_int_equal(ggs_aggregate_compute(&w, &trace, &overview, SMALL_BEGIN + 320, SMALL_BEGIN + 340, &error), 0);
    assert_int_equal(w.all.ops, 1);
    assert_int_equal(w.n_by_op, 1);
    assert_int_equal(op_of(&w, "MUL_MAT")->wall_ns, 20);
    assert_int_equal(w.all.busy_ns, 40);
    assert_int_equal(w.all.wait_ns, 0);
    assert_int_equal(w.all.bytes_disk, 256); // whole, though the window has a part of the op
    assert_int_equal(w.first_token, 0);
    assert_int_equal(w.last_token, 0);
    assert_string_equal(w.by_tensor[0].name, "blk.0.attn_q.weight");
    assert_int_equal(w.faults.major, 0); // began before
    assert_true(w.faults.stalled_ns > 9.9 && w.faults.stalled_ns < 10.1);
    assert_int_equal((int) w.by_lane[0].stalled_ns, 0);
    assert_int_equal((int) w.by_lane[1].stalled_ns, 10);
    assert_int_equal((int) w.by_lane[1].busy_ns, 20);
    ggs_aggregate_release(&w);
    // The whole recording: what its totals are.
    assert_int_equal(ggs_aggregate_compute(&w, &trace, &overview, 0, 1000000, &error), 0);
    assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(w.all.ops, t.ops);
    assert_int_equal(w.all.op_runs, t.op_runs);
    assert_int_equal(w.last_token, 1);
    uint64_t busy = 0, wait = 0;
    for (uint64_t i = 0; i < t.n_by_op; i++) busy += t.by_op[i].busy_ns, wait += t.by_op[i].wait_ns;
    assert_int_equal(w.all.busy_ns, busy);
    assert_int_equal(w.all.wait_ns, wait);
    ggs_totals_release(&t);
    ggs_aggregate_release(&w);
    // Between the runs there is nothing.
    assert_int_equal(ggs_aggregate_compute(&w, &trace, &overview, SMALL_BEGIN + 600, SMALL_BEGIN + 700, &error), 0);
    assert_int_equal(w.all.ops, 0);
    assert_int_equal(w.first_token, -1);
    ggs_aggregate_release(&w);
    ggs_overview_release(&overview);
    recording_close(&r, &trace);
}

static void test_access_map(void ** state) {
    (void) state;
    struct recording      r;
    struct ggs_trace      trace;
    struct ggs_access_map map = {
        .begin_ns = SMALL_BEGIN, .end_ns = SMALL_BEGIN + SMALL_RUN_NS, .columns = 5, .rows = 10};
    small_recording(&r);
    fault(&r, SMALL_BEGIN + 310, 20, RECORDING_OS_THREAD + 1, 3000, 1, 3, 0, GGS_FAULT_MAJOR);
    recording_done(&r, &trace);
    assert_int_equal(ggs_access_map_compute(&map, &trace, &error), 0);
    assert_int_equal(map.axis_bytes, 10000); // a row is 1,000 bytes, a column 100 ns
    assert_int_equal(map.end_byte, 10000);
    // token_embd at 1000, read by GET_ROWS at 100; attn_q at 3000, all of its 256 bytes by MUL_MAT
    // at 300.
    assert_true(map.cells[GGS_ACCESS_MAPPED][1 * 5 + 1] > 0);
    assert_int_equal((int) (map.cells[GGS_ACCESS_MAPPED][3 * 5 + 3] + 0.5f), 256);
    assert_int_equal((int) (map.cells[GGS_ACCESS_MAPPED][3 * 5 + 2] + 0.5f), 0);
    assert_int_equal((int) (map.cells[GGS_ACCESS_FAULTS][3 * 5 + 3] + 0.5f), 1);
    assert_int_equal((int) (map.sums[GGS_ACCESS_FAULTS] + 0.5), 1);
    assert_int_equal((int) (map.sums[GGS_ACCESS_DISK] + 0.5), 0);
    ggs_access_map_release(&map);
    // A part of the file, half of a tensor.
    map = (struct ggs_access_map){.begin_ns   = SMALL_BEGIN,
                                  .end_ns     = SMALL_BEGIN + SMALL_RUN_NS,
                                  .first_byte = 3128,
                                  .end_byte   = 4000,
                                  .columns    = 1,
                                  .rows       = 1};
    assert_int_equal(ggs_access_map_compute(&map, &trace, &error), 0);
    assert_int_equal((int) (map.sums[GGS_ACCESS_MAPPED] + 0.5), 128);
    ggs_access_map_release(&map);
    recording_close(&r, &trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_op_over_many_bins), cmocka_unit_test(test_ops_outside_of_the_bins),
        cmocka_unit_test(test_amounts_over_time),    cmocka_unit_test(test_stalls),
        cmocka_unit_test(test_heat_by_range),        cmocka_unit_test(test_window),
        cmocka_unit_test(test_access_map),           cmocka_unit_test(test_threads_without_a_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
