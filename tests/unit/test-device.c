// When a graph run on a device ends: at synchronize, at an event that was recorded behind it, or
// when a backend that waited for such an event has its results. The journal and the engine are
// stand-ins.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "capture/device/backends.h"
#include "capture/device/device.h"
#include "capture/device/kernels.h"
#include "capture/journal.h"
#include "capture/window.h"

// ---- what device.c wants of the capture library ----

struct abi_functions             ggs_engine;
int                              ggs_capture_state = GGS_CAPTURE_RECORDING;
_Thread_local struct ggs_nesting ggs_in;
static uint64_t                  written[16]; // numbers of runs, in order
static unsigned                  n_written;

static bool                      has_results; // of the newest
static _Atomic unsigned          n_emitted;   // runs
static bool                      in_threads;  // several write
static _Atomic unsigned          n_described; // devices
static struct ggs_journal_kernel kernels[2048];
static char                      kernel_names[65536];

static void keep_kernels(const struct ggs_piece * pieces, unsigned n) {
    assert_int_equal(n, 3);
    assert_true(pieces[1].bytes <= sizeof(kernels) && pieces[2].bytes <= sizeof(kernel_names));
    memcpy(kernels, pieces[1].data, pieces[1].bytes);
    memcpy(kernel_names, pieces[2].data, pieces[2].bytes);
}

void ggs_capture_stop_full(void) {
    fail();
}

// ---- kinds of backends: each keeps the run in a state of its own ----

struct state {
    const struct ggs_backend_kind * kind;
    const struct ggs_device_run *   run;
};
static _Atomic unsigned n_begun, n_read, n_dropped, n_generating;

static bool begin_run(struct ggs_device_run * run) {
    if (run->state == NULL) run->state = calloc(1, sizeof(struct state));
    struct state * state = run->state;
    if (state->kind == NULL) state->kind = run->kind;
    assert_ptr_equal(state->kind, run->kind);
    assert_null(state->run);
    state->run = run;
    run->timed = true;
    n_begun++;
    return true;
}

static void end_run(struct ggs_device_run * run) {
    struct state * state = run->state;
    assert_ptr_equal(state->run, run);
    state->run = NULL;
}

static bool read_run(struct ggs_device_run * run, unsigned waiting) {
    assert_true(waiting > 0);
    end_run(run);
    n_read++;
    return true;
}

static void drop_run(struct ggs_device_run * run) {
    end_run(run);
    n_dropped++;
}

static void count_generating(void) {
    n_generating++;
}

const struct ggs_backend_kind ggs_backend_kind_cuda = {
    .begin = begin_run, .read = read_run, .drop = drop_run, .generating = count_generating};
const struct ggs_backend_kind ggs_backend_kind_rpc    = {.asks = false};
const struct ggs_backend_kind ggs_backend_kind_vulkan = {.begin = begin_run, .read = read_run, .drop = drop_run};

int ggs_journal_append(uint32_t type, const struct ggs_piece * pieces, unsigned n) {
    struct ggs_journal_device_run run;
    if (type == GGS_JOURNAL_DEVICE) n_described++;
    if (type == GGS_JOURNAL_KERNELS) keep_kernels(pieces, n);
    if (type != GGS_JOURNAL_DEVICE_RUN) return 0;
    n_emitted++;
    if (in_threads) return 0;
    assert_true(n_written < 16);
    memcpy(&run, pieces[0].data, sizeof(run));
    has_results          = run.results_ns != 0;
    written[n_written++] = run.run;
    return 0;
}

static const char * name = "Vulkan0";

static const char * name_of(void * backend) {
    (void) backend;
    return name;
}

// ---- runs ----

static int backends[2], events[2];

static void submit_to(void * backend, uint64_t run) {
    static struct abi_tensor   tensor;
    static struct abi_tensor * nodes[] = {&tensor};
    struct abi_graph           graph   = {.n_nodes = 1, .nodes = nodes};
    ggs_in.run                         = run;
    ggs_in.depth                       = 1;
    ggs_device_begin(backend, &graph);
    ggs_device_end();
    ggs_in.depth = 0;
}

static void submit(unsigned backend, uint64_t run) {
    submit_to(&backends[backend], run);
}

static void wrote(unsigned n, uint64_t last) {
    assert_int_equal(n_written, n);
    if (n > 0) assert_int_equal(written[n - 1], last);
    if (n > 0) assert_true(has_results);
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

// True if the nodes of a run on it are followed.
static bool is_followed(void * backend) {
    static struct abi_tensor   tensor;
    static struct abi_tensor * nodes[] = {&tensor};
    struct abi_graph           graph   = {.n_nodes = 1, .nodes = nodes};
    ggs_in.run                         = 41;
    ggs_in.depth                       = 1;
    ggs_device_begin(backend, &graph);
    bool followed = ggs_device_followed != NULL;
    ggs_device_cancel();
    ggs_in.depth = 0;
    return followed;
}

static void * device_now;
static int    devices[2]; // a CPU and a GPU

static void * device_of_now(void * backend) {
    (void) backend;
    return device_now;
}

static int type_of_now(void * device) {
    return device == &devices[0] ? 0 : 1;
}

// A backend may come to lie where one was that has been freed.
static void test_address_used_again(void ** state) {
    (void) state;
    static int backend;
    ggs_engine.backend_device = device_of_now;
    ggs_engine.device_type    = type_of_now;
    for (unsigned i = 0; i < 3; i++) {
        device_now  = &devices[i % 2];
        n_described = 0;
        assert_int_equal(is_followed(&backend), i % 2);
        assert_int_equal(ggs_backend_is_gpu(&backend), i % 2);
        assert_int_equal(is_followed(&backend), i % 2);
        assert_int_equal(n_described, 1);
    }
}

static void test_many_backends(void ** state) {
    (void) state;
    enum { MANY = 200 };
    static int many[MANY];
    device_now  = &devices[1];
    n_described = 0;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MANY; i++) {
            assert_true(is_followed(&many[i]));
            assert_true(ggs_backend_is_gpu(&many[i]));
        }
        assert_int_equal(n_described, MANY);
    }
}

static void test_many_kernel_names(void ** state) {
    (void) state;
    enum { MANY = 2000 };
    static char                     names[MANY][16];
    static struct ggs_device_kernel work[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(names[i / 2], sizeof(names[0]), "kernel %u", i / 2);
        work[i] = (struct ggs_device_kernel){.node = i, .name = names[i / 2]};
    }
    work[MANY - 1].name = NULL;
    ggs_kernels_emit(51, work, MANY);
    for (unsigned i = 0; i < MANY - 1; i++) {
        assert_int_equal(kernels[i].node, i);
        assert_string_equal(kernel_names + kernels[i].name, names[i / 2]);
    }
    assert_string_equal(kernel_names + kernels[MANY - 1].name, "");
    assert_true(kernels[0].name == kernels[1].name);
}

static int set_up(void ** state) {
    (void) state;
    ggs_engine.backend_name = name_of;
    n_written = n_begun = n_read = n_dropped = 0;
    name                                     = "Vulkan0";
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

// Runs of two kinds take turns; each kind finds its own state.
static void test_kinds_have_their_own_state(void ** state) {
    (void) state;
    static int  objects[2];
    static char names[2][8] = {"CUDA0", "Vulkan1"};
    for (unsigned i = 0; i < 6; i++) {
        name = names[i % 2];
        submit_to(&objects[i % 2], 61 + i);
        if (i % 3 == 2) {
            ggs_device_results(&objects[0]);
            ggs_device_results(&objects[1]);
        }
    }
    assert_int_equal(n_written, 6);
    assert_int_equal(n_begun, 6);
    assert_int_equal(n_read, 6);
    assert_int_equal(n_dropped, 0);
    ggs_device_generating();
    assert_int_equal(n_generating, 1);
}

// What a kind keeps for a run is dropped if the run is never read.
static void test_drop(void ** state) {
    (void) state;
    static int object;
    assert_true(is_followed(&object)); // and cancelled
    assert_int_equal(n_dropped, 1);
    submit_to(&object, 71);
    submit_to(&object, 72);
    struct ggs_device_run * runs = ggs_device_remove_begin(&object);
    ggs_device_results(&object); // of another backend, which has the address already
    wrote(0, 0);
    submit_to(&object, 73);
    ggs_device_remove_end(runs);
    assert_int_equal(n_written, 2);
    assert_int_equal(written[1], 72);
    assert_false(has_results);
    assert_int_equal(n_dropped, 3);
    ggs_device_results(&object);
    wrote(3, 73);
    assert_int_equal(n_read, 1);
    submit_to(&object, 74);
    ggs_device_finish();
    assert_int_equal(n_written, 4);
    assert_false(has_results);
    assert_int_equal(n_dropped, 4);
    assert_int_equal(n_begun, 5);
}

// An empty queue says nothing of a server; what is read back from its buffers does.
static const char * buffer_name;

static void * buffer_type(void * buffer) {
    return buffer;
}

static const char * buffer_type_name(void * type) {
    (void) type;
    return buffer_name;
}

static void test_remote(void ** state) {
    (void) state;
    static int object, buffer;
    name                        = "RPC[host:1]";
    ggs_engine.buffer_type      = buffer_type;
    ggs_engine.buffer_type_name = buffer_type_name;
    submit_to(&object, 81);
    ggs_device_results(&object);
    wrote(0, 0);
    buffer_name = "RPC[host:2]";
    ggs_device_answered(&buffer);
    buffer_name = "CUDA0";
    ggs_device_answered(&buffer);
    wrote(0, 0);
    buffer_name = "RPC[host:1]";
    ggs_device_answered(&buffer);
    wrote(1, 81);
    submit_to(&object, 82);
    ggs_device_asked(&object);
    ggs_device_results(&object);
    wrote(2, 82);
}

// Each thread has two backends, of two kinds, and frees one of them with a run that has no results.
static void * compute(void * number) {
    static char      objects[4][2];
    static const int RUNS = 300;
    char *           own  = objects[(uintptr_t) number];
    for (int i = 0; i < RUNS; i++) {
        submit_to(&own[0], (uint64_t) i + 1);
        submit_to(&own[1], (uint64_t) i + 1);
        ggs_device_event_record(&own[1], &own[1]);
        ggs_device_results(&own[0]);
        ggs_device_event_results(&own[1]);
        submit_to(&own[1], (uint64_t) i + 1);
        ggs_device_remove_end(ggs_device_remove_begin(&own[1]));
    }
    return NULL;
}

static const char * name_by_address(void * backend) {
    return (uintptr_t) backend % 2 == 0 ? "CUDA0" : "Vulkan0";
}

static void test_threads(void ** state) {
    (void) state;
    pthread_t threads[4];
    ggs_engine.backend_name   = name_by_address;
    ggs_engine.backend_device = NULL;
    in_threads                = true;
    n_emitted = n_begun = n_read = n_dropped = 0;
    for (uintptr_t i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, compute, (void *) i), 0);
    for (unsigned i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    ggs_device_finish(); // a thread leaves what is done to another one that is writing
    in_threads = false;
    assert_int_equal(n_emitted, 4 * 300 * 3);
    assert_int_equal(n_begun, 4 * 300 * 3);
    assert_int_equal(n_read + n_dropped, 4 * 300 * 3);
    assert_int_equal(n_dropped, 4 * 300);
}

int main(void) {
    // The first: what a backend computes on is asked once.
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_cpu, set_up),
                                       cmocka_unit_test_setup(test_address_used_again, set_up),
                                       cmocka_unit_test_setup(test_many_backends, set_up),
                                       cmocka_unit_test(test_many_kernel_names),
                                       cmocka_unit_test_setup(test_synchronize, set_up),
                                       cmocka_unit_test_setup(test_event, set_up),
                                       cmocka_unit_test_setup(test_wait, set_up),
                                       cmocka_unit_test_setup(test_kinds_have_their_own_state, set_up),
                                       cmocka_unit_test_setup(test_drop, set_up),
                                       cmocka_unit_test_setup(test_remote, set_up),
                                       cmocka_unit_test_setup(test_threads, set_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
