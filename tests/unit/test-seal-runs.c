// What sealing makes of graph runs: which nodes were computed, on which lane of which thread or
// device, and when.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sealing-fixture.h"

// ---- coverage ----

static void test_coverage(void ** state) {
    (void) state;
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    fixture_run(&f, 1, 1, 0, 0, 0); // another backend
    fixture_run_end(&f, 1);
    struct ggs_journal_device_run results = {.run = 1, .submitted = f.ticks, .results_ns = fixture_ns(&f)};
    fixture_record(&f, GGS_JOURNAL_DEVICE_RUN, &results, sizeof(results), NULL);
    for (uint32_t i = 0; i < 2; i++) fixture_lane(&f, i, 0, i);
    fixture_run(&f, 2, 1, 0, 2, 0); // a node that nobody saw
    tiny_ops(&f, 2, 2, 0, 0, NULL, 0, 6);
    fixture_run_end(&f, 2);
    fixture_run(&f, 3, 1, 0, 2, 0); // killed in it
    tiny_ops(&f, 3, 2, 0, 0, NULL, 0, 3);
    struct ggs_unit cut = {.run = 3, .node = 3, .begin = f.ticks};
    fixture_op(&f, 0, &cut);
    struct ggs_seal_result result;
    struct ggs_reader *    reader = seal_and_open(&f, folder, NULL, &result);
    assert_int_equal(result.interrupted, 1);
    assert_int_equal(result.unseen, 1);
    assert_false(result.ended);
    struct ggs_run * runs = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(runs[i].nodes, runs[i].executed + runs[i].absorbed + runs[i].empty + runs[i].skipped +
                                            runs[i].opaque + runs[i].unseen + runs[i].cut);
    assert_int_equal(runs[0].opaque, 6);
    assert_int_equal(runs[0].empty, 1);
    assert_int_equal(runs[0].slot, -1);
    assert_int_equal(runs[1].executed, 4);
    assert_int_equal(runs[1].absorbed, 1);
    assert_int_equal(runs[1].unseen, 1);
    assert_int_equal(runs[2].flags, GGS_RUN_INTERRUPTED);
    assert_int_equal(runs[2].executed, 3);
    assert_int_equal(runs[2].cut, 2);
    assert_int_equal(runs[2].unseen, 0);
    assert_true(runs[2].end_ns >= runs[2].begin_ns);
    free(runs);
    struct ggs_op_run * ops = READ(reader, GGS_TABLE_OP_RUNS, ggs_op_run, &n);
    assert_int_equal(n, 8 + 4 + 1);
    assert_int_equal(ops[10].node, 3); // thread 0 of run 3: nodes 0, 1, 3
    assert_int_equal(ops[10].flags, 0);
    assert_int_equal(ops[10].duration_ns, 0);
    free(ops);
    ggs_reader_close(reader);
}

static void test_skipped(void ** state) {
    (void) state;
    size_t                    n;
    struct ggs_journal_tensor list[2]  = {fixture_tensor(OP_ADD, 4, 4), fixture_tensor(OP_ADD, 4, 4)};
    static const char *       names[2] = {"a", "b"};
    fixture_process(&f);
    list[0].flags = list[1].flags = 0; // a release without compute flags
    fixture_graph(&f, 1, 2, 2, list, names);
    fixture_run(&f, 1, 1, 0, 1, 0);
    fixture_run_end(&f, 1);
    list[0].flags = 16;
    list[0].ne[2] = 0; // empty shapes are not computed
    fixture_graph(&f, 2, 2, 2, list, names);
    fixture_run(&f, 2, 2, 0, 1, 0);
    fixture_run_end(&f, 2);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_run *    runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(runs[0].unseen, 2);
    assert_int_equal(runs[1].empty, 1);
    assert_int_equal(runs[1].skipped, 1);
    free(runs);
    ggs_reader_close(reader);
}

// ---- runs at the same time ----

static void test_concurrent_runs(void ** state) {
    (void) state;
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    for (uint32_t slot = 0; slot < 2; slot++)
        for (uint32_t i = 0; i < 2; i++) fixture_lane(&f, slot * 4 + i, slot, i);
    fixture_run(&f, 1, 1, 0, 2, 0);
    fixture_run(&f, 2, 1, 0, 2, 1);
    tiny_ops(&f, 2, 2, 1, 0, NULL, 0, TINY_NODES);
    fixture_run_end(&f, 2); // the second ends first
    fixture_run(&f, 3, 1, 0, 2, 1);
    tiny_ops(&f, 1, 2, 0, 0, NULL, 0, TINY_NODES);
    tiny_ops(&f, 3, 2, 1, 0, NULL, 0, TINY_NODES);
    fixture_run_end(&f, 1);
    fixture_run_end(&f, 3);
    fixture_run(&f, 4, 1, 0, 2, 0); // never ends: its slot is taken again
    tiny_ops(&f, 4, 2, 0, 0, NULL, 0, 2);
    fixture_run(&f, 5, 1, 0, 2, 0);
    tiny_ops(&f, 5, 2, 0, 0, NULL, 0, TINY_NODES);
    fixture_run_end(&f, 5);
    struct ggs_seal_result result;
    struct ggs_reader *    reader = seal_and_open(&f, folder, NULL, &result);
    assert_int_equal(result.lost, 0);
    assert_int_equal(result.interrupted, 1);
    struct ggs_op_run * ops = READ(reader, GGS_TABLE_OP_RUNS, ggs_op_run, &n);
    assert_int_equal(n, 44);
    for (size_t i = 1; i < n; i++) {
        assert_true(ops[i].run >= ops[i - 1].run);
        if (ops[i].run != ops[i - 1].run) continue;
        assert_true(ops[i].thread >= ops[i - 1].thread);
        if (ops[i].thread == ops[i - 1].thread) assert_true(ops[i].begin_ns > ops[i - 1].begin_ns);
    }
    free(ops);
    struct ggs_run * runs = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(runs[i].run, i + 1);
        assert_int_equal(runs[i].op_runs, i == 3 ? 4 : 10);
        assert_int_equal(runs[i].flags, i == 3 ? GGS_RUN_INTERRUPTED : 0);
        assert_int_equal(runs[i].unseen, 0);
    }
    free(runs);
    ggs_reader_close(reader);
}

// ---- devices and lanes ----

// A run on a device: what its DEVICE_RUN says of nodes, which comes after the call has returned.
// `replayed`: a captured graph, whose record names every node. `lost`: the program was killed
// before its results were there.
static void device_run(uint64_t run, bool replayed, bool lost) {
    static const uint32_t  visited[] = {0, 1, 3, 4, 5, 6}; // 2 is computed together with 1, 4 is empty
    struct ggs_journal_run begin     = {
            .run = run, .graph = 1, .ticks = f.ticks, .monotonic_ns = fixture_ns(&f), .os_thread = 7};
    fixture_record(&f, GGS_JOURNAL_RUN, &begin, sizeof(begin), "CUDA0");
    uint64_t start = fixture_ns(&f);
    fixture_advance(&f, 1000);
    struct ggs_journal_run_end end = {.run = run, .ticks = f.ticks, .monotonic_ns = fixture_ns(&f)};
    fixture_record(&f, GGS_JOURNAL_RUN_END, &end, sizeof(end), NULL);
    fixture_advance(&f, 9000);
    if (lost) return;
    struct {
        struct ggs_journal_device_run head;
        struct ggs_journal_device_op  ops[TINY_NODES];
    } record = {.head = {.run        = run,
                         .results_ns = start + 9500,
                         .ops        = replayed ? 7 : 6,
                         .timed      = replayed ? GGS_DEVICE_REPLAYED : GGS_DEVICE_TIMED}};
    for (uint32_t i = 0; i < record.head.ops; i++) {
        uint32_t node = replayed ? i : visited[i];
        bool     ran  = node != 4 && node != 2;
        record.ops[i] = (struct ggs_journal_device_op){.node     = node,
                                                       .queue    = 40,
                                                       .submit   = begin.ticks + 10 * node,
                                                       .begin_ns = ran ? start + 2000 + 1000 * node : 0,
                                                       .end_ns   = ran ? start + 2900 + 1000 * node : 0};
    }
    struct {
        struct ggs_journal_kernels head;
        struct ggs_journal_kernel  rows[2];
        char                       names[16];
    } kernels = {.head  = {.run = run, .count = 2},
                 .rows  = {{.node     = 1,
                            .queue    = 40,
                            .begin_ns = start + 3000,
                            .end_ns   = start + 3400,
                            .grid     = {2, 3, 4},
                            .block    = {32, 1, 1}},
                           {.node     = GGS_DEVICE_NO_NODE,
                            .queue    = 40,
                            .begin_ns = start + 9000,
                            .end_ns   = start + 9100,
                            .bytes    = 77,
                            .name     = 9}},
                 .names = "multiply\0copy"};
    if (!replayed) fixture_record(&f, GGS_JOURNAL_KERNELS, &kernels, sizeof(kernels), NULL);
    fixture_record(&f, GGS_JOURNAL_DEVICE_RUN, &record, sizeof(record.head) + record.head.ops * sizeof(record.ops[0]),
                   NULL);
}

static void test_device_runs(void ** state) {
    (void) state;
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    device_run(1, false, false);
    device_run(2, true, false);
    device_run(3, false, true);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_run *    runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(n, 3);
    assert_int_equal(runs[2].flags, GGS_RUN_INTERRUPTED | GGS_RUN_RESULTS_UNSEEN);
    assert_int_equal(runs[2].cut, 6);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(runs[i].flags, 0);
        assert_int_equal(runs[i].end_ns - runs[i].begin_ns, 9500); // not when the call returned
        assert_int_equal(runs[i].executed, 5);
        assert_int_equal(runs[i].absorbed, 1);
        assert_int_equal(runs[i].empty, 1);
        assert_int_equal(runs[i].unseen + runs[i].opaque + runs[i].skipped, 0);
    }
    struct ggs_op_run * ops = READ(reader, GGS_TABLE_OP_RUNS, ggs_op_run, &n);
    assert_int_equal(n, 10);
    assert_int_equal(ops[1].node, 1);
    assert_int_equal(ops[1].absorbed, 1);
    assert_int_equal(ops[1].begin_ns - runs[0].begin_ns, 3000);
    assert_int_equal(ops[1].duration_ns, 900);
    assert_true(ops[1].submit_ns >= runs[0].begin_ns && ops[1].submit_ns < ops[1].begin_ns);
    assert_int_equal(ops[6].absorbed, 1); // the same of the replay
    assert_int_equal(ops[1].flags, GGS_OP_RUN_ENDED | GGS_OP_RUN_FUSED | GGS_OP_RUN_WAIT_UNSEEN);
    assert_int_equal(ops[1].inner_wait_ns, 500); // its kernel ran in the first 400 of 900
    assert_int_equal(ops[0].inner_wait_ns, 0);   // no kernel is known of it
    struct ggs_kernel * kernels = READ(reader, GGS_TABLE_KERNELS, ggs_kernel, &n);
    assert_int_equal(n, 2);
    assert_string_equal(ggs_reader_string(reader, kernels[0].name), "multiply");
    assert_int_equal(kernels[0].duration_ns, 400);
    assert_int_equal(kernels[0].grid_x * 100 + kernels[0].grid_y * 10 + kernels[0].grid_z, 234);
    assert_int_equal(kernels[0].block_x, 32);
    assert_string_equal(ggs_reader_string(reader, kernels[1].name), "copy");
    assert_int_equal(kernels[1].bytes, 77);
    assert_int_equal(kernels[1].nodes, 0); // work of the run that belongs to no node
    free(kernels);
    struct ggs_lane * lanes = READ(reader, GGS_TABLE_LANES, ggs_lane, &n);
    assert_int_equal(n, 1);
    assert_int_equal(lanes[0].kind, GGS_LANE_QUEUE);
    assert_string_equal(ggs_reader_string(reader, lanes[0].name), "CUDA0");
    free(runs);
    free(ops);
    free(lanes);
    ggs_reader_close(reader);
}

// Backends that are seen as whole graphs have a lane each, named after them; the CPU's keep their
// names.
static void test_lanes(void ** state) {
    (void) state;
    static const char * const names[] = {"CPU thread 0", "CPU thread 1", "CUDA0", "BLAS", "CPU #2 thread 0"};
    size_t                    n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_run(&f, 1, 1, 0, 2, 0, 0, NULL, 0);
    for (uint64_t run = 2; run < 5; run++) {
        struct ggs_journal_run     begin = {.run = run, .graph = 1, .ticks = f.ticks, .monotonic_ns = fixture_ns(&f)};
        struct ggs_journal_run_end end   = {.run = run};
        fixture_record(&f, GGS_JOURNAL_RUN, &begin, sizeof(begin), run == 3 ? "BLAS" : "CUDA0");
        fixture_advance(&f, 5000);
        end.ticks = f.ticks, end.monotonic_ns = fixture_ns(&f);
        fixture_record(&f, GGS_JOURNAL_RUN_END, &end, sizeof(end), NULL);
    }
    tiny_run(&f, 5, 1, 0, 1, 1, 0, NULL, 0);
    fixture_numbers(&f, GGS_JOURNAL_END, 0, 0, 0, 0, NULL);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_lane *   lanes  = READ(reader, GGS_TABLE_LANES, ggs_lane, &n);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++) assert_string_equal(ggs_reader_string(reader, lanes[i].name), names[i]);
    struct ggs_device * devices = READ(reader, GGS_TABLE_DEVICES, ggs_device, &n);
    assert_int_equal(n, 3);
    assert_int_equal(devices[0].seen, GGS_SEEN_OPS);
    assert_int_equal(devices[1].seen, GGS_SEEN_GRAPHS);
    struct ggs_run * runs = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    for (size_t i = 0; i < n; i++) {
        static const uint64_t device[] = {1, 2, 3, 2, 1};
        assert_int_equal(runs[i].device, device[i]);
        assert_int_equal(runs[i].process, 1);
        assert_int_equal(runs[i].flags, i == 0 || i == 4 ? 0 : GGS_RUN_OPAQUE | GGS_RUN_RESULTS_UNSEEN);
    }
    struct ggs_lod * lod  = READ(reader, GGS_TABLE_LOD, ggs_lod, &n);
    uint64_t         busy = 0;
    for (size_t i = 0; i < n; i++)
        if (lod[i].level == lod[0].level && lod[i].lane == 3) busy += lod[i].busy_ns;
    assert_int_equal(busy, 10000);
    free(lanes);
    free(devices);
    free(runs);
    free(lod);
    ggs_reader_close(reader);
}

// ---- times ----

struct unit {
    uint32_t lane, node;
    uint64_t begin, duration, wait, inner; // in ns after the run's begin
    uint8_t  flags;
};

// Seals one run of two threads with these units, and compares the op runs that come of them, in the
// same order.
static void check_times(const struct unit * units, const struct unit * expected, size_t count, uint64_t run_flags) {
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    uint64_t start = f.ticks;
    fixture_run(&f, 1, 1, 0, 2, 0);
    for (uint32_t i = 0; i < 2; i++) fixture_lane(&f, i, 0, i);
    for (size_t i = 0; i < count; i++) {
        struct ggs_unit op = {.flags      = units[i].flags,
                              .run        = 1,
                              .node       = units[i].node,
                              .begin      = start + 3 * units[i].begin,
                              .duration   = 3 * units[i].duration,
                              .wait       = 3 * units[i].wait,
                              .inner_wait = 3 * units[i].inner};
        fixture_op(&f, units[i].lane, &op);
    }
    fixture_advance(&f, 500);
    struct ggs_journal_run_end end = {.run = 1, .ticks = f.ticks, .monotonic_ns = fixture_ns(&f), .flags = run_flags};
    fixture_record(&f, GGS_JOURNAL_RUN_END, &end, sizeof(end), NULL);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_run *    run    = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    struct ggs_lod *    bins   = READ(reader, GGS_TABLE_LOD, ggs_lod, &n);
    uint64_t            busy = 0, wait = 0; // of bins less that of op runs
    for (size_t i = 0; i < n && bins[i].level == bins[0].level; i++) busy += bins[i].busy_ns, wait += bins[i].wait_ns;
    struct ggs_op_run * rows = READ(reader, GGS_TABLE_OP_RUNS, ggs_op_run, &n);
    assert_int_equal(run->flags, run_flags);
    assert_int_equal(n, count);
    for (size_t i = 0; i < n; i++) {
        busy -= rows[i].duration_ns - rows[i].inner_wait_ns;
        wait -= rows[i].inner_wait_ns + rows[i].wait_ns;
        assert_int_equal(rows[i].node, expected[i].node);
        assert_int_equal(rows[i].thread, expected[i].lane);
        assert_int_equal(rows[i].begin_ns - run->begin_ns, expected[i].begin);
        assert_int_equal(rows[i].duration_ns, expected[i].duration);
        assert_int_equal(rows[i].wait_ns, expected[i].wait);
        assert_int_equal(rows[i].inner_wait_ns, expected[i].inner);
        assert_int_equal(rows[i].flags, expected[i].flags);
    }
    assert_int_equal(busy, 0);
    assert_int_equal(wait, 0);
    free(run);
    free(rows);
    free(bins);
    ggs_reader_close(reader);
}

// The engine's barrier was not seen: thread 0 tells its ends, the others end before any thread
// begins the next op.
static void test_hidden_barrier(void ** state) {
    (void) state;
    enum { TOLD = GGS_OP_RUN_ENDED | GGS_OP_RUN_WAIT_UNSEEN, BOUND = TOLD | GGS_OP_RUN_END_BOUND };
    static const struct unit units[] = {
        {0, 0, 100, 50, 0, 0, TOLD},
        {0, 3, 200, 90, 0, 10, TOLD},
        {1, 0, 110, 0, 0, 0, 0},
        {1, 3, 190, 30, 20, 5, GGS_OP_RUN_ENDED}, // ended by a barrier inside it
    };
    static const struct unit expected[] = {
        {0, 0, 100, 50, 0, 0, TOLD},
        {0, 3, 200, 90, 0, 10, TOLD},
        {1, 0, 110, 80, 0, 0, BOUND},
        {1, 3, 190, 310, 0, 25, BOUND},
    };
    check_times(units, expected, 4, GGS_RUN_NO_WAITS);
}

// A thread that read its clock too early seems to begin an op before another one has ended the op
// before.
static void test_order_of_ops(void ** state) {
    (void) state;
    static const struct unit units[] = {
        {0, 0, 100, 50, 10, 0, GGS_OP_RUN_ENDED}, {0, 1, 170, 60, 0, 0, GGS_OP_RUN_ENDED},
        {0, 3, 290, 40, 20, 0, GGS_OP_RUN_ENDED}, {1, 0, 110, 70, 20, 0, GGS_OP_RUN_ENDED},
        {1, 1, 295, 5, 5, 0, GGS_OP_RUN_ENDED},   {1, 3, 225, 10, 100, 9, GGS_OP_RUN_ENDED},
    };
    static const struct unit expected[] = {
        {0, 0, 100, 50, 10, 0, GGS_OP_RUN_ENDED},
        {0, 1, 170, 60, 0, 0, GGS_OP_RUN_ENDED},
        {0, 3, 290, 40, 20, 0, GGS_OP_RUN_ENDED},
        {1, 0, 110, 60, 30, 0, GGS_OP_RUN_ENDED}, // thread 0 had begun the next op at 170: it waited since then
        {1, 1, 290, 0, 15, 0, GGS_OP_RUN_ENDED},  // likewise at 290
        {1, 3, 290, 0, 45, 0, GGS_OP_RUN_ENDED},  // which is when it ended the one before
    };
    check_times(units, expected, 6, 0);
}

// The graph of a run on a device is guessed when it is submitted, and looked at while it computes.
static void test_guessed_graph(void ** state) {
    (void) state;
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_graph(&f, 2);
    for (uint64_t run = 1; run <= 3; run++) {
        fixture_run(&f, run, 1, 0, 0, 0);
        fixture_advance(&f, 500);
        struct ggs_journal_run_end end = {
            .run = run, .ticks = f.ticks, .monotonic_ns = fixture_ns(&f), .graph = run == 3 ? 0 : run};
        fixture_record(&f, GGS_JOURNAL_RUN_END, &end, sizeof(end), NULL);
    }
    size_t              n;
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_run *    runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(n, 3);
    assert_int_equal(runs[0].graph, 1);
    assert_int_equal(runs[1].graph, 2);
    assert_int_equal(runs[2].graph, 1);
    free(runs);
    ggs_reader_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, sealing_setup, sealing_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(coverage), TEST(skipped),        TEST(concurrent_runs), TEST(guessed_graph),
        TEST(lanes),    TEST(hidden_barrier), TEST(order_of_ops),    TEST(device_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
