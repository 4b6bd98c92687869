// Unit tests of src/analyze/walk/walk.c and trace.c: ops of a recording in the engine's order, and
// what a trace must not say.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/walk/walk.h"
#include "recording-fixture.h"

static struct ggs_error error;

static struct ggs_walk * open_walk(struct ggs_trace * trace, int64_t first, int64_t last, bool sums) {
    struct ggs_walk * walk;
    assert_int_equal(ggs_walk_open(&walk, trace, first, last, &error), 0);
    walk->sums_only = sums;
    return walk;
}

static void check_op(const struct ggs_walk * walk, uint64_t node, const char * name, int layer, int64_t begin_ns,
                     uint64_t busy_ns, uint64_t wait_ns) {
    assert_int_equal(walk->op.node, node);
    assert_string_equal(walk->op.name, name);
    assert_int_equal(walk->op.layer, layer);
    assert_int_equal(walk->op.begin_ns, begin_ns);
    assert_int_equal(walk->op.end_ns, begin_ns + 65);
    assert_int_equal(walk->op.wall_ns, 65);
    assert_int_equal(walk->op.busy_ns, busy_ns);
    assert_int_equal(walk->op.wait_ns, wait_ns);
    assert_int_equal(walk->op.n_op_runs, 2);
    assert_false(walk->op.cut);
}

static void check_run(struct ggs_walk * walk, uint64_t run, int64_t begin_ns) {
    assert_int_equal(ggs_walk_run(walk, &error), 1);
    assert_int_equal(walk->run.run, run);
    assert_true(ggs_walk_op(walk));
    check_op(walk, 0, "GET_ROWS", -1, begin_ns + 100, 110, 10);
    assert_true(ggs_walk_op(walk));
    check_op(walk, 1, "RMS_NORM", 0, begin_ns + 200, 110, 10);
    assert_int_equal(walk->op.absorbed, 1);
    assert_true(ggs_walk_op(walk));
    check_op(walk, 3, "MUL_MAT", 0, begin_ns + 300, 90, 30); // 20 ns inside the op are a wait
    assert_true(ggs_walk_op(walk));
    check_op(walk, 5, "ADD", 0, begin_ns + 400, 110, 10);
    assert_int_equal(walk->op.absorbed, 0);
    assert_false(ggs_walk_op(walk));
}

static void test_ops_in_order(void ** state) {
    (void) state;
    for (int sums = 0; sums < 2; sums++) { // both ways give the same
        struct recording r;
        struct ggs_trace trace;
        small_recording(&r);
        recording_done(&r, &trace);
        struct ggs_walk * walk = open_walk(&trace, INT64_MIN, INT64_MAX, sums == 1);
        check_run(walk, 1, SMALL_BEGIN);
        check_run(walk, 2, SMALL_BEGIN + SMALL_APART);
        assert_int_equal(ggs_walk_run(walk, &error), 0);
        ggs_walk_close(walk);
        walk = open_walk(&trace, 1, 1, sums == 1); // one token step
        check_run(walk, 2, SMALL_BEGIN + SMALL_APART);
        assert_int_equal(ggs_walk_run(walk, &error), 0);
        ggs_walk_close(walk);
        recording_close(&r, &trace);
    }
}

static void test_fused_nodes_are_parts(void ** state) {
    (void) state;
    struct recording   r;
    struct ggs_trace   trace;
    struct ggs_op_seen part;
    small_recording(&r);
    recording_done(&r, &trace);
    struct ggs_walk * walk = open_walk(&trace, 0, 0, true);
    assert_int_equal(ggs_walk_run(walk, &error), 1);
    assert_true(ggs_walk_op(walk) && ggs_walk_op(walk));
    assert_true(ggs_walk_part(walk, 0, &part));
    assert_int_equal(part.node, 1);
    assert_int_equal(part.wall_ns, 65);
    assert_true(ggs_walk_part(walk, 1, &part));
    assert_int_equal(part.node, 2);
    assert_string_equal(part.name, "MUL");
    assert_int_equal(part.begin_ns, SMALL_BEGIN + 200);
    assert_int_equal(part.wall_ns + part.busy_ns + part.wait_ns, 0); // its time counts at the head
    assert_false(ggs_walk_part(walk, 2, &part));
    ggs_walk_close(walk);
    recording_close(&r, &trace);
}

static void test_opaque_runs_only_if_asked(void ** state) {
    (void) state;
    struct recording r;
    struct ggs_trace trace;
    recording_open(&r);
    small_graph(&r, 1);
    struct ggs_run run = {.run      = 1,
                          .graph    = 1,
                          .backend  = recording_string(&r, "Vulkan0"),
                          .slot     = -1,
                          .begin_ns = 100,
                          .end_ns   = 900,
                          .flags    = GGS_RUN_OPAQUE,
                          .nodes    = SMALL_NODES,
                          .empty    = 1,
                          .opaque   = 5};
    recording_run(&r, &run);
    recording_done(&r, &trace);
    struct ggs_walk * walk = open_walk(&trace, INT64_MIN, INT64_MAX, true);
    assert_int_equal(ggs_walk_run(walk, &error), 1);
    assert_null(walk->graph);
    assert_false(ggs_walk_op(walk));
    ggs_walk_close(walk);
    walk              = open_walk(&trace, INT64_MIN, INT64_MAX, true);
    walk->with_opaque = true;
    assert_int_equal(ggs_walk_run(walk, &error), 1);
    static const uint64_t nodes[] = {0, 1, 2, 3, 5};
    for (unsigned i = 0; i < 5; i++) {
        assert_true(ggs_walk_op(walk));
        assert_int_equal(walk->op.node, nodes[i]);
        assert_true(walk->op.opaque);
        assert_int_equal(walk->op.wall_ns + walk->op.n_op_runs, 0);
    }
    assert_false(ggs_walk_op(walk));
    ggs_walk_close(walk);
    recording_close(&r, &trace);
}

// Sums of such times must not overflow: the build with sanitizers ends here if they do.
static void test_impossible_times(void ** state) {
    (void) state;
    for (int sums = 0; sums < 2; sums++) {
        struct recording r;
        struct ggs_trace trace;
        recording_open(&r);
        small_graph(&r, 1);
        struct ggs_run run = {
            .run = 1, .graph = 1, .begin_ns = INT64_MIN, .end_ns = INT64_MAX, .op_runs = 2, .executed = 1};
        recording_run(&r, &run);
        recording_op_run(&r, 1, 3, 0, INT64_MAX - 5, UINT64_MAX - 7, UINT64_MAX, UINT64_MAX, 0);
        recording_op_run(&r, 1, 3, 1, INT64_MIN, 100, 0, 0, 0);
        recording_done(&r, &trace);
        struct ggs_walk * walk = open_walk(&trace, INT64_MIN, INT64_MAX, sums == 1);
        assert_int_equal(ggs_walk_run(walk, &error), 1);
        assert_true(ggs_walk_op(walk));
        assert_int_equal(walk->op.begin_ns, 0);
        assert_true(walk->op.end_ns > 0 && walk->run.end_ns >= walk->run.begin_ns);
        assert_int_equal(walk->op.wall_ns, (uint64_t) walk->op.end_ns);
        ggs_walk_close(walk);
        recording_close(&r, &trace);
    }
}

// A run whose rows lie in several chunks is one run.
static void test_run_over_chunks(void ** state) {
    (void) state;
    enum { THREADS = 3000 };
    for (int sums = 0; sums < 2; sums++) {
        struct recording r;
        struct ggs_trace trace;
        recording_open(&r);
        small_graph(&r, 1);
        struct ggs_run run = {.run = 1, .graph = 1, .op_runs = 2 * THREADS, .executed = 2, .threads = THREADS};
        recording_run(&r, &run);
        for (uint64_t i = 0; i < THREADS; i++) {
            recording_op_run(&r, 1, 0, i, 100, 10, 0, 0, 0);
            if (i == THREADS / 2) ggs_writer_flush(&r.writer, GGS_TABLE_OP_RUNS);
            recording_op_run(&r, 1, 5, i, 200, 20, 0, 0, 0);
        }
        recording_done(&r, &trace);
        struct ggs_walk * walk = open_walk(&trace, INT64_MIN, INT64_MAX, sums == 1);
        assert_int_equal(ggs_walk_run(walk, &error), 1);
        assert_true(ggs_walk_op(walk));
        assert_int_equal(walk->op.node, 0);
        assert_int_equal(walk->op.n_op_runs, THREADS);
        assert_int_equal(walk->op.busy_ns, 10 * THREADS);
        assert_true(ggs_walk_op(walk));
        assert_int_equal(walk->op.node, 5);
        assert_int_equal(walk->op.n_op_runs, THREADS);
        assert_int_equal(walk->op.busy_ns, 20 * THREADS);
        assert_false(ggs_walk_op(walk));
        ggs_walk_close(walk);
        recording_close(&r, &trace);
    }
}

// ---- untrusted numbers ----

static void refused(struct recording * r, const char * why) {
    struct ggs_trace trace;
    recording_write(r);
    assert_int_equal(ggs_trace_open(&trace, r->path, &error), GGS_FORMAT);
    assert_non_null(strstr(error.text, why));
    recording_close(r, NULL);
}

static void test_wrong_numbers_of_tensors(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_tensor row = {.tensor = 900000, .ne = {1, 1, 1, 1}};
    recording_open(&r);
    recording_row(&r, GGS_TABLE_TENSORS, &row);
    refused(&r, "tensor 1 has the impossible number 900000");
    recording_open(&r);
    recording_tensor_row(&r, "a", (struct ggs_tensor){.view = 77});
    refused(&r, "tensor 1 has the impossible view 77");
    recording_open(&r);
    recording_tensor_row(&r, "a", (struct ggs_tensor){.source = GGS_SOURCE_DISK, .file = 5});
    refused(&r, "tensor 1 has the impossible file 5");
    recording_open(&r);
    recording_tensor_row(&r, "a", (struct ggs_tensor){.source = GGS_SOURCE_BUFFER, .origin_file = UINT64_MAX});
    refused(&r, "impossible origin");
    recording_open(&r);
    recording_row(&r, GGS_TABLE_FILES, &(struct ggs_file){.file = 3});
    refused(&r, "file 1 has the impossible number 3");
    recording_open(&r);
    recording_row(&r, GGS_TABLE_DEVICES, &(struct ggs_device){.device = 2});
    refused(&r, "device 1 has the impossible number 2");
}

static void test_wrong_tensors_of_graphs(void ** state) {
    (void) state;
    struct recording         r;
    struct ggs_trace         trace;
    const struct ggs_graph * graph;
    recording_open(&r);
    uint64_t a = recording_tensor(&r, "a", F32, 1, 1, 1, in_buffer(0));
    recording_node(&r, 1, OP_ADD, a, 5, 0, 0);
    recording_node(&r, 2, OP_ADD, 6, a, 0, 0);
    recording_node(&r, 3, OP_ADD, a, a, 0, 0);
    recording_done(&r, &trace);
    assert_int_equal(ggs_trace_graph(&trace, 1, &graph, &error), GGS_FORMAT);
    assert_int_equal(ggs_trace_graph(&trace, 2, &graph, &error), GGS_FORMAT);
    assert_int_equal(ggs_trace_graph(&trace, 3, &graph, &error), 0);
    assert_int_equal(ggs_trace_graph(&trace, 9, &graph, &error), GGS_ABSENT);
    recording_close(&r, &trace);
}

// A bit that flipped in any chunk of strings is an error, not another number.
static void test_damaged_strings(void ** state) {
    (void) state;
    struct recording r;
    struct ggs_trace trace;
    static char      data[1 << 20];
    small_recording(&r);
    recording_write(&r);
    ssize_t size = pread(r.fd, data, sizeof(data), 0);
    assert_true(size > 0 && size < (ssize_t) sizeof(data));
    int refusals = 0;
    for (ssize_t i = 64; i < size; i += 3) {
        char flipped = data[i] ^ 16;
        assert_int_equal(pwrite(r.fd, &flipped, 1, i), 1);
        if (ggs_trace_open(&trace, r.path, &error) == 0) {
            assert_string_equal(ggs_trace_tensor_name(&trace, 1), "token_embd.weight");
            assert_string_equal(ggs_trace_op_name(&trace, OP_SET_ROWS), "SET_ROWS");
            ggs_trace_close(&trace);
        } else {
            refusals++;
        }
        assert_int_equal(pwrite(r.fd, &data[i], 1, i), 1);
    }
    assert_true(refusals > 50);
    recording_close(&r, NULL);
}

// What is intact of a damaged trace can be read if one asks for it, and it is known to be a part.
static void test_reading_what_is_intact(void ** state) {
    (void) state;
    struct recording r;
    struct ggs_trace trace;
    static char      data[1 << 20];
    small_recording(&r);
    recording_write(&r);
    ssize_t size    = pread(r.fd, data, sizeof(data), 0);
    int     partial = 0, less = 0;
    for (ssize_t i = 64; i < size; i += 3) {
        char flipped = data[i] ^ 16;
        assert_int_equal(pwrite(r.fd, &flipped, 1, i), 1);
        if (ggs_trace_open_damaged(&trace, r.path, &error) == 0) {
            uint64_t          ops  = 0;
            struct ggs_walk * walk = open_walk(&trace, INT64_MIN, INT64_MAX, true);
            int               more;
            while ((more = ggs_walk_run(walk, &error)) > 0)
                while (walk->graph != NULL && ggs_walk_op(walk)) ops++;
            if (more < 0) fail_msg("byte %d: %s", (int) i, error.text);
            partial += trace.damaged > 0;
            less += ops < 8;
            if (ops < 8) assert_true(trace.damaged > 0 || ggs_reader_warning(trace.reader) != NULL);
            ggs_walk_close(walk);
            ggs_trace_close(&trace);
        }
        assert_int_equal(pwrite(r.fd, &data[i], 1, i), 1);
    }
    assert_true(partial > 50 && less > 10);
    assert_int_equal(ggs_trace_open_damaged(&trace, r.path, &error), 0);
    assert_int_equal(trace.damaged, 0);
    recording_close(&r, &trace);
}

static void test_ranges_that_users_ask_for(void ** state) {
    (void) state;
    struct recording r;
    struct ggs_trace trace;
    small_recording(&r);
    recording_done(&r, &trace);
    assert_int_equal(ggs_trace_check_steps(&trace, 0, 1, &error), 0);
    assert_int_equal(ggs_trace_check_steps(&trace, INT64_MIN, INT64_MAX, &error), 0);
    assert_int_equal(ggs_trace_check_steps(&trace, 1, INT64_MAX, &error), 0);
    assert_int_equal(ggs_trace_check_steps(&trace, 99, 99, &error), GGS_ABSENT);
    assert_string_equal(error.text, "there is no token 99: this recording has tokens 0 to 1");
    assert_int_equal(ggs_trace_check_steps(&trace, 1, 99, &error), 0); // there is some of it
    assert_int_equal(ggs_trace_check_steps(&trace, 2, INT64_MAX, &error), GGS_ABSENT);
    assert_int_equal(ggs_trace_check_layer(&trace, 0, &error), 0);
    assert_int_equal(ggs_trace_check_layer(&trace, -1, &error), 0);
    assert_int_equal(ggs_trace_check_layer(&trace, 99, &error), GGS_ABSENT);
    assert_string_equal(error.text, "there is no layer 99: this recording has layers 0 to 0");
    recording_close(&r, &trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops_in_order),
        cmocka_unit_test(test_fused_nodes_are_parts),
        cmocka_unit_test(test_opaque_runs_only_if_asked),
        cmocka_unit_test(test_impossible_times),
        cmocka_unit_test(test_run_over_chunks),
        cmocka_unit_test(test_wrong_numbers_of_tensors),
        cmocka_unit_test(test_wrong_tensors_of_graphs),
        cmocka_unit_test(test_damaged_strings),
        cmocka_unit_test(test_reading_what_is_intact),
        cmocka_unit_test(test_ranges_that_users_ask_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
