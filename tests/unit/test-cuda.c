// Which kernel belongs to which node, against a stand-in for CUPTI: launched one by one, captured,
// replayed, out of order; and the window.
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/device/device.h"
#include "capture/device/kernels.h"
#include "cupti-stand-in.h"

enum { LAUNCH_KERNEL = 307, GRAPH_LAUNCH = 514, NODES = 8 };

// ---- what cuda.c wants of the capture library ----

_Thread_local struct ggs_device_run * ggs_device_current;
static struct ggs_device_kernel       written[16];
static uint32_t                       n_written;

struct ggs_capture_settings ggs_capture;

void ggs_capture_warn(const char * format, ...) {
    fail_msg("%s", format);
}

void ggs_kernels_emit(uint64_t number, const struct ggs_device_kernel * kernels, uint32_t n) {
    (void) number;
    assert_true(n <= 16);
    if (n > 0) memcpy(written, kernels, n * sizeof(*kernels));
    n_written = n;
}

// ---- runs ----

static struct ggs_device_op  ops[NODES];
static struct ggs_device_run run; // state stays, as that of a run which is used again

static bool begin(void) {
    void * kept = run.state;
    memset(ops, 0, sizeof(ops));
    run = (struct ggs_device_run){
        .kind = &ggs_backend_kind_cuda, .n_nodes = NODES, .ops = ops, .capacity = NODES, .state = kept};
    if (!ggs_backend_kind_cuda.begin(&run)) return false;
    ggs_device_current = &run;
    return true;
}

static void node(uint32_t number) { // as ggs_device_node
    ops[run.n_ops++] = (struct ggs_device_op){.node = number};
}

static void end(void) {
    ggs_device_current = NULL;
    run.results_ns     = ggs_clock_now();
    assert_true(ggs_backend_kind_cuda.read(&run, UINT_MAX));
}

static void is(uint32_t op, uint64_t begin_ns, uint64_t end_ns) {
    assert_int_equal(ops[op].begin_ns, begin_ns);
    assert_int_equal(ops[op].end_ns, end_ns);
}

static int set_up(void ** state) {
    (void) state;
    snprintf(ggs_capture.gpu_ops, sizeof(ggs_capture.gpu_ops), "first:2");
    return 0;
}

// ---- tests, in this order: CUPTI is switched on once in a process ----

static void test_launches(void ** state) {
    (void) state;
    assert_true(begin());
    node(0);
    stand_in_call(LAUNCH_KERNEL, 11);
    stand_in_call(LAUNCH_KERNEL, 12); // quantize, then multiply
    node(3);                          // 1 and 2 were fused into 0
    stand_in_call(LAUNCH_KERNEL, 15);
    node(4);                                     // launches nothing
    stand_in_kernel(15, 0, 300, 400, "other");   // records come in any order
    stand_in_kernel(99, 0, 1, 2, "not a graph"); // of a call outside of runs
    stand_in_kernel(12, 0, 150, 250, "multiply");
    stand_in_kernel(11, 0, 100, 150, "quantize");
    end();
    is(0, 100, 250);
    is(1, 300, 400);
    is(2, 0, 0);
    assert_false(run.replayed);
    assert_int_equal(n_written, 3);
    static const char * const names[] = {"quantize", "multiply", "other"};
    for (int i = 0; i < 3; i++) assert_string_equal(written[i].name, names[i]); // by time
    assert_int_equal(written[1].node, 0);
    assert_int_equal(written[2].node, 3);
    assert_int_equal(written[2].stream, 7);
    assert_int_equal(written[2].grid[1], 2);
}

static void test_captured_and_replayed(void ** state) {
    (void) state;
    assert_true(begin());
    node(0);
    stand_in_capture(1001);
    stand_in_call(LAUNCH_KERNEL, 21);
    node(2);
    stand_in_capture(1002);
    stand_in_call(LAUNCH_KERNEL, 22);
    stand_in_capture(0);
    stand_in_clone(1001, 2001); // instantiated
    stand_in_clone(1002, 2002);
    stand_in_clone(1009, 2009); // of a graph that is not known
    stand_in_call(GRAPH_LAUNCH, 23);
    stand_in_kernel(23, 2001, 500, 600, "first");
    stand_in_copy(23, 2002, 600, 700, 64);
    end();
    is(0, 500, 600);
    is(1, 600, 700);
    assert_false(run.replayed); // the loop ran too
    assert_string_equal(written[1].name, "[copy]");
    assert_int_equal(written[1].bytes, 64);

    assert_true(begin()); // the check for capture comes to every node, nothing is launched but the graph
    node(0);
    node(1);
    node(2);
    stand_in_call(GRAPH_LAUNCH, 31);
    stand_in_kernel(31, 2002, 850, 950, "second");
    stand_in_kernel(31, 2001, 800, 900, "first"); // overlaps it
    stand_in_kernel(31, 2009, 950, 960, "unknown");
    end();
    assert_true(run.replayed);
    is(0, 800, 900);
    is(1, 0, 0); // fused
    is(2, 850, 950);
    assert_int_equal(n_written, 3);
    assert_int_equal(written[2].node, GGS_DEVICE_NO_NODE);
}

// Attached late: the graph was captured while nobody listened.
static void test_captured_unseen(void ** state) {
    (void) state;
    assert_true(begin());
    node(0);
    node(1);
    stand_in_call(GRAPH_LAUNCH, 33);
    stand_in_kernel(33, 3001, 970, 980, "unknown");
    stand_in_kernel(33, 3002, 980, 990, "unknown");
    end();
    assert_false(run.timed); // the run is seen as a whole
    assert_int_equal(run.n_ops, 0);
    assert_int_equal(n_written, 2);

    assert_true(begin()); // captured again, to update what was instantiated
    node(0);
    stand_in_capture(1011);
    stand_in_call(LAUNCH_KERNEL, 34);
    stand_in_capture(0);
    stand_in_call(GRAPH_LAUNCH, 35);
    stand_in_kernel(35, 3001, 990, 995, "unknown");
    end();
    assert_false(run.timed);
    assert_int_equal(run.n_ops, 0);
}

// Records are asked for when several runs wait for theirs.
static void test_batches(void ** state) {
    (void) state;
    assert_true(begin());
    node(0);
    stand_in_call(LAUNCH_KERNEL, 36);
    stand_in_kernel(36, 0, 1100, 1200, "late");
    run.results_ns = ggs_clock_now();
    assert_false(ggs_backend_kind_cuda.read(&run, 1));
    is(0, 0, 0);
    assert_true(ggs_backend_kind_cuda.read(&run, 8));
    is(0, 1100, 1200);
}

static void test_window(void ** state) {
    (void) state;
    for (int i = 0; i < 3; i++) { // the prompt does not count
        assert_true(begin());
        end();
    }
    ggs_backend_kind_cuda.generating();
    for (int i = 0; i < 2; i++) {
        assert_false(stand_in_ended());
        assert_true(begin());
        end();
    }
    assert_true(stand_in_ended());
    assert_false(begin());
    assert_false(run.timed);
    stand_in_call(LAUNCH_KERNEL, 41); // nobody listens
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launches), cmocka_unit_test(test_captured_and_replayed),
                                       cmocka_unit_test(test_captured_unseen), cmocka_unit_test(test_batches),
                                       cmocka_unit_test(test_window)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
