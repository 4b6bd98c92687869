// Unit tests of src/analyze/ops/log.c: entries, and every filter.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/ops/log.h"
#include "recording-fixture.h"

static struct ggs_error error;

// The entries that a filter leaves, as "1.0 1.1 ..." (run.node).
static const char * entries(struct ggs_trace * trace, const struct ggs_log_filter * filter) {
    static char          text[512];
    struct ggs_log *     log;
    struct ggs_log_entry e;
    size_t               used = 0;
    int                  more;
    text[0] = '\0';
    assert_int_equal(ggs_log_open(&log, trace, filter, &error), 0);
    while ((more = ggs_log_next(log, &e, &error)) > 0)
        used += (size_t) snprintf(text + used, sizeof(text) - used, "%s%d.%d", used == 0 ? "" : " ", (int) e.run,
                                  (int) e.node);
    assert_int_equal(more, 0);
    ggs_log_close(log);
    return text;
}

static void test_every_node_has_its_entry(void ** state) {
    (void) state;
    struct recording      r;
    struct ggs_trace      trace;
    struct ggs_log *      log;
    struct ggs_log_entry  e;
    struct ggs_log_filter all  = GGS_LOG_ALL;
    uint64_t              read = 0, written = 0, wall = 0, number = 0;
    int                   more;
    small_recording(&r);
    recording_done(&r, &trace);
    assert_string_equal(entries(&trace, &all), "1.0 1.1 1.2 1.3 1.5 2.0 2.1 2.2 2.3 2.5");
    all.operands = true;
    assert_int_equal(ggs_log_open(&log, &trace, &all, &error), 0);
    while ((more = ggs_log_next(log, &e, &error)) > 0) {
        assert_int_equal(e.number, number++ % 5);
        read += e.read, written += e.written, wall += (uint64_t) (e.end_ns - e.begin_ns);
        assert_int_equal(e.fused, e.node == 2 ? 1 : -1);
        assert_int_equal(e.absorbed, e.node == 1 ? 1 : 0);
        if (e.node == 1) assert_int_equal(e.n_operands, 1); // its result is handed on
        if (e.node == 2) {
            assert_string_equal(e.op, "MUL");
            assert_string_equal(e.tensor, "attn_norm-0");
            assert_int_equal(e.written, 64); // so what the next op reads was written by something
            assert_int_equal(e.main.tensor->file_offset, 2000);
            assert_int_equal(e.busy_ns + e.wait_ns, 0);
        }
    }
    assert_int_equal(more, 0);
    assert_int_equal(read, 976); // as the totals have it
    assert_int_equal(written, 448);
    assert_int_equal(wall, 8 * 65); // times count once
    ggs_log_close(log);
    recording_close(&r, &trace);
}

static void test_filters(void ** state) {
    (void) state;
    struct recording            r;
    struct ggs_trace            trace;
    const struct ggs_log_filter all = GGS_LOG_ALL;
    struct ggs_log_filter       f;
    small_recording(&r);
    recording_done(&r, &trace);
#define WITH(...) (f = all, __VA_ARGS__, &f)
    assert_string_equal(entries(&trace, WITH(f.first_token = f.last_token = 1)), "2.0 2.1 2.2 2.3 2.5");
    assert_string_equal(entries(&trace, WITH(f.first_run = f.last_run = 1)), "1.0 1.1 1.2 1.3 1.5");
    assert_string_equal(entries(&trace, WITH(f.ops.layer = -1)), "1.0 2.0");
    struct ggs_log * log; // what the recording does not have is an error, not an empty list
    assert_int_equal(ggs_log_open(&log, &trace, WITH(f.ops.layer = 7), &error), GGS_ABSENT);
    assert_int_equal(ggs_log_open(&log, &trace, WITH(f.first_token = f.last_token = 99), &error), GGS_ABSENT);
    assert_string_equal(entries(&trace, WITH(f.ops.op = "mul_mat")), "1.3 2.3");
    assert_string_equal(entries(&trace, WITH(f.ops.op = "MUL")), "1.2 2.2");
    assert_string_equal(entries(&trace, WITH(f.ops.tensor = "blk.*.attn_norm.*")), "1.2 2.2");
    assert_string_equal(entries(&trace, WITH(f.ops.tensor = "embd")), "1.0 1.1 2.0 2.1");
    assert_string_equal(entries(&trace, WITH(f.ops.source = GGS_SOURCE_DISK)), "1.0 1.2 1.3 2.0 2.2 2.3");
    assert_string_equal(entries(&trace, WITH(f.ops.range_begin = 3255, f.ops.range_end = 3256)), "1.3 2.3");
    assert_string_equal(entries(&trace, WITH(f.ops.range_begin = 3256, f.ops.range_end = 3300)), "");
    assert_string_equal(entries(&trace, WITH(f.ops.range_begin = 1000 + 5 * 32, f.ops.range_end = 1000 + 6 * 32)),
                        "2.0"); // row 5
    assert_string_equal(entries(&trace, WITH(f.ops.range_begin = 2000, f.ops.range_end = 2001, f.ops.range_file = 2)),
                        "");
    assert_string_equal(entries(&trace, WITH(f.ops.buffer = 1, f.ops.op = "GET_ROWS")), "1.0 2.0");
    assert_string_equal(entries(&trace, WITH(f.ops.buffer = 2)), "");
    int64_t mul_mat = SMALL_BEGIN + 300; // of the first run
    assert_string_equal(entries(&trace, WITH(f.ops.since_ns = mul_mat, f.ops.until_ns = mul_mat + 1)), "1.3");
    assert_string_equal(entries(&trace, WITH(f.ops.since_ns = mul_mat + 64, f.ops.until_ns = mul_mat + 70)), "1.3");
    assert_string_equal(entries(&trace, WITH(f.ops.since_ns = mul_mat + 65, f.ops.until_ns = mul_mat + 70)), "");
    assert_string_equal(entries(&trace, WITH(f.ops.since_ns = mul_mat - 1, f.ops.until_ns = mul_mat)), "");
    for (int again = 0; again < 2; again++) // counting takes another way to the same entries
        assert_string_equal(entries(&trace, WITH(f.places_only = true, f.ops.source = GGS_SOURCE_DISK)),
                            "1.0 1.2 1.3 2.0 2.2 2.3");
    recording_close(&r, &trace);
}

static void test_one_thread(void ** state) {
    (void) state;
    struct recording      r;
    struct ggs_trace      trace;
    struct ggs_log *      log;
    struct ggs_log_entry  e;
    struct ggs_log_filter f = GGS_LOG_ALL;
    small_recording(&r);
    recording_done(&r, &trace);
    f.ops.thread = 1;
    f.ops.op     = "MUL_MAT";
    assert_int_equal(ggs_log_open(&log, &trace, &f, &error), 0);
    assert_int_equal(ggs_log_next(log, &e, &error), 1);
    assert_int_equal(e.begin_ns, SMALL_BEGIN + 305);
    assert_int_equal(e.end_ns, SMALL_BEGIN + 365);
    assert_int_equal(e.busy_ns, 40);
    assert_int_equal(e.wait_ns, 20);
    ggs_log_close(log);
    f.ops.op = "MUL"; // fused: begins with its head on that thread, and takes no time
    assert_int_equal(ggs_log_open(&log, &trace, &f, &error), 0);
    assert_int_equal(ggs_log_next(log, &e, &error), 1);
    assert_int_equal(e.begin_ns, SMALL_BEGIN + 205);
    assert_int_equal(e.end_ns, e.begin_ns);
    assert_int_equal(e.busy_ns + e.wait_ns, 0);
    ggs_log_close(log);
    f.ops.thread = 2;
    assert_string_equal(entries(&trace, &f), "");
    recording_close(&r, &trace);
}

static void test_opaque_nodes_are_marked(void ** state) {
    (void) state;
    struct recording      r;
    struct ggs_trace      trace;
    struct ggs_log *      log;
    struct ggs_log_entry  e;
    struct ggs_log_filter all = GGS_LOG_ALL;
    recording_open(&r);
    small_graph(&r, 1);
    struct ggs_run run = {.run      = 1,
                          .graph    = 1,
                          .begin_ns = 50,
                          .end_ns   = 90,
                          .flags    = GGS_RUN_OPAQUE,
                          .nodes    = 6,
                          .empty    = 1,
                          .opaque   = 5};
    recording_run(&r, &run);
    recording_done(&r, &trace);
    assert_string_equal(entries(&trace, &all), "1.0 1.1 1.2 1.3 1.5");
    assert_int_equal(ggs_log_open(&log, &trace, &all, &error), 0);
    assert_int_equal(ggs_log_next(log, &e, &error), 1);
    assert_true(e.opaque);
    assert_int_equal(e.end_ns - e.begin_ns, 0);
    assert_int_equal(e.read, 64 + 8);
    ggs_log_close(log);
    recording_close(&r, &trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_node_has_its_entry),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_opaque_nodes_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
