// When a graph run on a device ends: at synchronize, at an event that was recorded behind it, or when a backend that waited for such an event
// has its results. The journal and the engine are stand-ins.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "capture/device/cuda.h"
#include "capture/device/device.h"
#include "capture/journal.h"
#include "capture/window.h"

// ---- what device.c wants of the capture library ----

struct abi_functions             ggs_engine;
int                              ggs_capture_state = GGS_CAPTURE_RECORDING;
_Thread_local struct ggs_nesting ggs_in;
static uint64_t                  written[16]; // numbers of runs, in order
static unsigned                  n_written;

void ggs_capture_stop_full(void) {
    fail();
}

bool ggs_cuda_begin(struct ggs_device_run * run) {
    (void) run;
    return true;
}

void ggs_cuda_generates(void) {}

int ggs_journal_append(uint32_t type, const struct ggs_piece * pieces, unsigned n) {
    (void) n;
    struct ggs_journal_device_run run;
    if (type != GGS_JOURNAL_DEVICE_RUN) return 0;
    assert_true(n_written < 16);
    memcpy(&run, pieces[0].data, sizeof(run));
    assert_true(run.results_ns != 0);
    written[n_written++] = run.run;
    return 0;
}

static const char * name_of(void * backend) {
    (void) backend;
    return "Vulkan0";
}

// ---- runs ----

static int backends[2], events[2];

static void submit(unsigned backend, uint64_t run) {
    static struct abi_tensor   tensor;
    static struct abi_tensor * nodes[] = {&tensor};
    struct abi_graph           graph   = {.n_nodes = 1, .nodes = nodes};
    ggs_in.run                         = run;
    ggs_in.depth                       = 1;
    ggs_device_begin(&backends[backend], &graph);
    ggs_device_end();
    ggs_in.depth = 0;
}

static void wrote(unsigned n, uint64_t last) {
    assert_int_equal(n_written, n);
    if (n > 0) assert_int_equal(written[n - 1], last);
}

// Device 0 is the CPU, the other a GPU.
static void * device_of(void * backend) {
    return backend;
}

static int type_of(void * device) {
    return device == &backends[0] ? 0 : 1;
}

// The CPU asks of every node while it plans: nothing of that is noted, and takes no time.
static void test_cpu(void ** state) {
    (void) state;
    static struct abi_tensor   tensor;
    static struct abi_tensor * nodes[] = {&tensor};
    struct abi_graph           graph   = {.n_nodes = 1, .nodes = nodes};
    ggs_engine.backend_device          = device_of;
    ggs_engine.device_type             = type_of;
    for (unsigned i = 0; i < 2; i++) {
        ggs_in.run   = 31 + i;
        ggs_in.depth = 1;
        ggs_device_begin(&backends[i], &graph);
        assert_non_null(ggs_device_current);
        assert_int_equal(ggs_device_followed != NULL, i == 1);
        ggs_device_cancel();
        assert_null(ggs_device_current);
        ggs_in.depth = 0;
    }
    wrote(0, 0);
}

static int set_up(void ** state) {
    (void) state;
    ggs_engine.backend_name = name_of;
    n_written               = 0;
    return 0;
}

static void test_synchronize(void ** state) {
    (void) state;
    submit(0, 1);
    submit(1, 2);
    submit(0, 3);
    ggs_device_results(&backends[0]);
    wrote(2, 3);
    ggs_device_results(&backends[1]);
    wrote(3, 2);
}

static void test_event(void ** state) {
    (void) state;
    submit(0, 11);
    ggs_device_event_record(&events[0], &backends[0]);
    submit(0, 12);                        // behind the event
    ggs_device_event_results(&events[1]); // never recorded
    wrote(0, 0);
    ggs_device_event_results(&events[0]);
    wrote(1, 11);
    ggs_device_results(&backends[0]);
    wrote(2, 12);
}

// The second device waits for what the first computed; the host only for the second.
static void test_wait(void ** state) {
    (void) state;
    submit(0, 21);
    ggs_device_event_record(&events[0], &backends[0]);
    submit(0, 22);
    ggs_device_event_wait(&backends[1], &events[0]);
    submit(1, 23);
    wrote(0, 0);
    ggs_device_results(&backends[1]);
    wrote(2, 21);
    assert_int_equal(written[0], 23);
    ggs_device_results(&backends[1]); // that wait is over
    wrote(2, 21);
    ggs_device_results(&backends[0]);
    wrote(3, 22);
}

int main(void) {
    // The first: what a backend computes on is asked once.
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_cpu, set_up), cmocka_unit_test_setup(test_synchronize, set_up),
        cmocka_unit_test_setup(test_event, set_up), cmocka_unit_test_setup(test_wait, set_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
