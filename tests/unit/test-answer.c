// Unit tests of src/answer: the objects that recordings made by hand give.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "answer/answer.h"
#include "answer/buffers.h"
#include "answer/ops/stats.h"
#include "base/error.h"
#include "base/text.h"
#include "recording-fixture.h"

static struct ggs_error error;

static void test_by(void ** state) {
    (void) state;
    unsigned by = 0;
    assert_true(ggs_groupings_parse("op", &by));
    assert_int_equal(by, 1u << GGS_BY_OP);
    assert_true(ggs_groupings_parse("thread,layer", &by));
    assert_int_equal(by, 1u << GGS_BY_THREAD | 1u << GGS_BY_LAYER);
    assert_true(ggs_groupings_parse("backend", &by)); // has one device, whose name it bears
    assert_int_equal(by, 1u << GGS_BY_DEVICE);
    static const char * const wrong[] = {"", ",", "op,", ",op", "ops", "layer, op", "Layer"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) assert_false(ggs_groupings_parse(wrong[i], &by));
}

// ---- stats ----

// A backend that is seen as whole graphs.
static void add_opaque_run(struct recording * r) {
    struct ggs_run row = {.run      = 3,
                          .graph    = 1,
                          .step     = 2,
                          .phase    = GGS_PHASE_GENERATE,
                          .backend  = recording_string(r, "Vulkan0"),
                          .slot     = -1,
                          .begin_ns = 5000,
                          .end_ns   = 8000,
                          .flags    = GGS_RUN_OPAQUE,
                          .nodes    = SMALL_NODES,
                          .empty    = 1,
                          .opaque   = 5};
    recording_run(r, &row);
    recording_step(r, 2, GGS_PHASE_GENERATE, 3, 5000, 8000, 1);
}

static void has(const struct ggs_text * text, const char * part) {
    if (strstr(text->data, part) == NULL) fail_msg("%s is not in %s", part, text->data);
}

// In a range of time, what ran on a backend that is seen as a whole counts with its bytes; that its
// times are not known is said.
static void test_aggregate(void ** state) {
    (void) state;
    struct recording     r;
    struct ggs_trace     trace;
    struct ggs_overview  overview;
    struct ggs_aggregate window;
    struct ggs_json      json;
    struct ggs_text      text = {0};
    small_recording(&r);
    add_opaque_run(&r);
    recording_done(&r, &trace);
    assert_int_equal(ggs_overview_compute(&overview, &trace, &error), 0);
    assert_int_equal(ggs_aggregate_compute(&window, &trace, &overview, 6000, 7000, &error), 0);
    assert_true(window.all.bytes_read > 0);
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    ggs_answer_write(&json, &ggs_aggregate_object, &window, &trace);
    assert_int_equal(ggs_json_finish(&json), 0);
    ggs_text_string(&text);
    has(&text, "\"first_token\":2,\"last_token\":2,\"ops\":5,\"ops_untimed\":5,\"op_runs\":0,\"wall_ns\":1000,"
               "\"busy_ns\":null,\"wait_ns\":null,");
    has(&text, "\"by_op\":[{\"op\":null,\"backend\":\"Vulkan0\",\"ops\":5,");
    has(&text, "{\"lane\":1,\"busy_ns\":0,\"wait_ns\":0,"); // a thread, which did nothing then
    has(&text, "{\"lane\":2,\"busy_ns\":null,\"wait_ns\":null,\"stalled_ns\":null}");
    ggs_aggregate_release(&window);
    ggs_text_release(&text);
    ggs_overview_release(&overview);
    recording_close(&r, &trace);
}

static void test_stats(void ** state) {
    (void) state;
    struct recording         r;
    struct ggs_trace         trace;
    struct ggs_stats         stats;
    struct ggs_json          json;
    struct ggs_text          text    = {0};
    struct ggs_stats_options options = {.range = ggs_totals_all,
                                        .by    = 1u << GGS_BY_LAYER | 1u << GGS_BY_THREAD | 1u << GGS_BY_DEVICE};
    small_recording(&r);
    add_opaque_run(&r);
    recording_done(&r, &trace);
    assert_int_equal(ggs_stats_compute(&stats, &trace, &options, &error), 0);
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    ggs_stats_write(&json, &stats);
    assert_int_equal(ggs_json_finish(&json), 0);
    ggs_text_string(&text);
    has(&text, "\"tokens\":3,\"warmup_steps\":0,");
    has(&text, "\"opaque_ns\":3000,");
    has(&text,
        "\"by_op\":[{\"op\":null,\"backend\":\"Vulkan0\",\"ops\":5,\"ops_untimed\":5,\"op_runs\":0,\"wall_ns\":3000,"
        "\"busy_ns\":null,\"wait_ns\":null,");
    has(&text, "{\"op\":\"MUL_MAT\",\"backend\":null,");
    has(&text, "\"by_layer\":[{\"layer\":null,\"backend\":null,");
    has(&text, "{\"layer\":null,\"backend\":\"Vulkan0\",\"ops\":5,");
    has(&text,
        "\"by_device\":[{\"device\":null,\"backend\":\"Vulkan0\",\"ops\":5,\"ops_untimed\":5,\"op_runs\":0,\"wall_ns\":3000,");
    has(&text, "{\"device\":\"CPU\",\"backend\":null,\"ops\":8,");
    has(&text, "\"by_thread\":[{\"thread\":0,\"backend\":null,\"ops\":8,\"ops_untimed\":0,\"op_runs\":8,");
    has(&text,
        "\"machine\":{\"faults\":null,\"off_cpu\":null,\"block_requests\":null,\"memory\":null,\"cold\":null,\"bytes_read\":null,");
    has(&text, "\"from_trace\":1,"); // the file is gone
    assert_null(strstr(text.data, "\"by_token\""));
    const char * threads = strstr(text.data, "\"by_thread\"");
    const char * end     = strchr(threads, ']');
    const char * bytes   = strstr(threads, "bytes_read");
    assert_true(bytes == NULL || bytes > end); // bytes belong to ops
    ggs_text_release(&text);
    ggs_stats_release(&stats);
    recording_close(&r, &trace);
}

static void test_ranges(void ** state) {
    (void) state;
    struct recording r;
    struct ggs_trace trace;
    struct ggs_stats stats;
    small_recording(&r);
    recording_done(&r, &trace);
    struct ggs_stats_options options = {.range = {1, 1}};
    assert_int_equal(ggs_stats_compute(&stats, &trace, &options, &error), 0);
    assert_int_equal(stats.totals.steps, 1);
    ggs_stats_release(&stats);
    options.range.last_step = 9; // a range that reaches beyond the end has what there is
    assert_int_equal(ggs_stats_compute(&stats, &trace, &options, &error), 0);
    assert_int_equal(stats.totals.steps, 1);
    ggs_stats_release(&stats);
    options.range.first_step = 9;
    assert_int_equal(ggs_stats_compute(&stats, &trace, &options, &error), GGS_ABSENT);
    assert_string_equal(error.text, "there is no token 9: this recording has tokens 0 to 1");
    struct ggs_op_filter layer = GGS_OP_FILTER_ALL;
    layer.layer                = 4;
    assert_int_equal(ggs_op_filter_check(&layer, &trace, &error), GGS_ABSENT);
    assert_string_equal(error.text, "there is no layer 4: this recording has layers 0 to 0");
    recording_close(&r, &trace);
}

// ---- buffers ----

static void test_buffers(void ** state) {
    (void) state;
    struct recording   r;
    struct ggs_trace   trace;
    struct ggs_buffers buffers;
    struct ggs_json    json;
    recording_open(&r);
    recording_buffer(&r, 100, GGS_CLASS_KV, 10, 50);
    recording_buffer(&r, 40, GGS_CLASS_COMPUTE, 20, -1);
    recording_done(&r, &trace);
    for (int transfers = 0; transfers < 2; transfers++) {
        struct ggs_text text = {0};
        assert_int_equal(ggs_buffers_compute(&buffers, &trace, transfers != 0, &error), 0);
        ggs_json_init(&json, ggs_json_to_text, &text, false);
        ggs_buffers_write(&json, &buffers);
        assert_int_equal(ggs_json_finish(&json), 0);
        ggs_text_string(&text);
        has(&text, "\"count\":2,\"peak_bytes\":140,\"peak_ns\":20,\"bytes_mapped\":0,");
        has(&text,
            "\"by_class\":[{\"class\":\"kv\",\"count\":1,\"peak_bytes\":100},{\"class\":\"compute\",\"count\":1,\"peak_bytes\":40}]");
        has(&text, "{\"time_ns\":50,\"freed\":true,\"buffer\":1,\"bytes\":100,\"bytes_total\":40,\"buffers\":1}");
        assert_int_equal(strstr(text.data, "\"transfers\":[]") != NULL, transfers);
        ggs_text_release(&text);
        ggs_buffers_release(&buffers);
    }
    recording_close(&r, &trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by),     cmocka_unit_test(test_aggregate), cmocka_unit_test(test_stats),
        cmocka_unit_test(test_ranges), cmocka_unit_test(test_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
