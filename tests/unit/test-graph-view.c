// Unit tests of src/analyze/ops/graph-view.c and of what src/answer writes of it, on a graph whose
// answers can be worked out on paper.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/ops/graph-view.h"
#include "answer/answer.h"
#include "base/text.h"
#include "recording-fixture.h"

static struct ggs_error error;

static void look(struct ggs_graph_view * view, struct ggs_trace * trace, int64_t token, bool step) {
    struct ggs_run * runs;
    uint64_t         n;
    assert_int_equal(ggs_graph_runs(trace, token, 0, &runs, &n, &error), 0);
    assert_int_equal(n, 1);
    assert_int_equal(ggs_graph_view_compute(view, trace, &runs[0], step, &error), 0);
    free(runs);
}

static void test_nodes(void ** state) {
    static const enum ggs_node_state states[] = {GGS_NODE_EXECUTED, GGS_NODE_EXECUTED, GGS_NODE_ABSORBED,
                                                 GGS_NODE_EXECUTED, GGS_NODE_EMPTY,    GGS_NODE_EXECUTED};
    static const uint32_t            heads[]  = {1, 2, 2, 4, 0, 6};
    struct recording                 r;
    struct ggs_trace                 trace;
    struct ggs_graph_view            view;
    (void) state;
    small_recording(&r);
    recording_done(&r, &trace);
    look(&view, &trace, 1, true);
    assert_int_equal(view.graph->n_nodes, SMALL_NODES);
    assert_int_equal(view.runs, 1);
    for (int i = 0; i < SMALL_NODES; i++) {
        assert_int_equal(view.nodes[i].state, states[i]);
        assert_int_equal(view.nodes[i].head, heads[i]);
        assert_int_equal(view.nodes[i].layer, i == 0 ? -1 : 0);
        assert_int_equal(view.nodes[i].duration_ns,
                         states[i] == GGS_NODE_EXECUTED ? 65 : 0); // a fused one has none of its own
    }
    assert_int_equal(view.nodes[3].begin_ns, SMALL_BEGIN + SMALL_APART + 300);
    ggs_graph_view_release(&view);
    recording_close(&r, &trace);
}

static void test_who_computes_what(void ** state) {
    struct recording      r;
    struct ggs_trace      trace;
    struct ggs_graph_view view;
    uint32_t              nodes[GGS_NEIGHBOURS_MOST];
    (void) state;
    small_recording(&r);
    recording_done(&r, &trace);
    look(&view, &trace, 0, true);
    assert_int_equal(view.n_leaves, 4); // the table, the tokens, the norm's weights, the query's weights
    for (uint64_t i = 0; i < view.n_leaves; i++) assert_int_equal(view.leaf_of[view.leaves[i] - 1], i + 1);
    assert_int_equal(ggs_graph_view_producers(&view, 0, nodes), 0);
    assert_int_equal(ggs_graph_view_producers(&view, 3, nodes), 1);
    assert_int_equal(nodes[0], 2);
    assert_int_equal(ggs_graph_view_producers(&view, 5, nodes), 1); // past the view
    assert_int_equal(nodes[0], 3);
    assert_int_equal(ggs_graph_view_consumers(&view, 3, nodes), 1);
    assert_int_equal(nodes[0], 5);
    assert_int_equal(ggs_graph_view_consumers(&view, 5, nodes), 0);
    ggs_graph_view_release(&view);
    recording_close(&r, &trace);
}

// A prompt in two pieces that use one graph: times are those of both, or of the one that was asked
// for.
static void test_several_runs(void ** state) {
    static const int32_t  tokens[] = {3, 3};
    struct recording      r;
    struct ggs_trace      trace;
    struct ggs_graph_view view;
    struct ggs_run *      runs;
    uint64_t              n;
    (void) state;
    recording_open(&r);
    small_graph(&r, 1);
    small_run(&r, 1, 1, 0, GGS_PHASE_PROMPT, SMALL_BEGIN, tokens, 2);
    small_run(&r, 2, 1, 0, GGS_PHASE_PROMPT, SMALL_BEGIN + SMALL_APART, tokens, 2);
    recording_row(&r, GGS_TABLE_STEPS,
                  &(struct ggs_step){.phase     = GGS_PHASE_PROMPT,
                                     .begin_ns  = SMALL_BEGIN,
                                     .end_ns    = SMALL_BEGIN + SMALL_APART + SMALL_RUN_NS,
                                     .first_run = 1,
                                     .last_run  = 2,
                                     .runs      = 2,
                                     .tokens    = 4});
    recording_done(&r, &trace);
    assert_int_equal(ggs_graph_runs(&trace, 0, 0, &runs, &n, &error), 0);
    assert_int_equal(n, 2);
    for (int step = 0; step < 2; step++) {
        assert_int_equal(ggs_graph_view_compute(&view, &trace, &runs[1], step == 1, &error), 0);
        assert_int_equal(view.runs, 1 + step);
        assert_int_equal(view.nodes[0].duration_ns, 65 * (1 + step));
        ggs_graph_view_release(&view);
    }
    free(runs);
    assert_int_equal(ggs_graph_runs(&trace, 7, 0, &runs, &n, &error), GGS_ABSENT);
    assert_non_null(strstr(error.text, "token step 7"));
    assert_int_equal(ggs_graph_runs(&trace, 0, 9, &runs, &n, &error), GGS_ABSENT);
    recording_close(&r, &trace);
}

// A node and a source that are no tensor of this trace: an answer or an error, but no other memory.
static void test_wrong_tensors(void ** state) {
    static const uint64_t wrong[] = {11, 4000, UINT32_MAX, UINT64_MAX};
    (void) state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct recording      r;
        struct ggs_trace      trace;
        struct ggs_graph_view view;
        struct ggs_run *      runs;
        struct ggs_text       text = {0};
        struct ggs_json       json;
        uint64_t              n;
        recording_open(&r);
        small_graph(&r, 1);
        recording_node(&r, 1, OP_ADD, wrong[i], wrong[i], 1, 0);
        small_run(&r, 1, 1, 0, GGS_PHASE_PROMPT, SMALL_BEGIN, (const int32_t[]){3, 3}, 2);
        recording_step(&r, 0, GGS_PHASE_PROMPT, 1, SMALL_BEGIN, SMALL_BEGIN + SMALL_RUN_NS, 2);
        recording_done(&r, &trace);
        assert_int_equal(ggs_graph_runs(&trace, 0, 0, &runs, &n, &error), 0);
        if (ggs_graph_view_compute(&view, &trace, &runs[0], true, &error) == 0) {
            ggs_json_init(&json, ggs_json_to_text, &text, false);
            ggs_graph_write_begin(&json, &trace, runs, n);
            ggs_graph_write(&json, &view);
            ggs_graph_write_end(&json);
            assert_int_equal(ggs_json_finish(&json), 0);
            ggs_graph_view_release(&view);
        } else {
            assert_true(error.text[0] != '\0');
        }
        ggs_text_release(&text);
        free(runs);
        recording_close(&r, &trace);
    }
}

// The card of a node that was computed together with another is that one's, and names both.
static void test_card_of_a_fused_node(void ** state) {
    struct recording    r;
    struct ggs_trace    trace;
    struct ggs_overview overview;
    struct ggs_text     texts[2] = {{0}, {0}};
    struct ggs_json     json;
    (void) state;
    small_recording(&r);
    recording_done(&r, &trace);
    assert_int_equal(ggs_overview_compute(&overview, &trace, &error), 0);
    for (int i = 0; i < 2; i++) {
        ggs_json_init(&json, ggs_json_to_text, &texts[i], false);
        assert_int_equal(ggs_op_write(&json, &trace, &overview, 2, 1 + (uint64_t) i, &error), 0);
        assert_int_equal(ggs_json_finish(&json), 0);
    }
    assert_string_equal(ggs_text_string(&texts[0]), ggs_text_string(&texts[1]));
    const char * text = ggs_text_string(&texts[0]);
    assert_non_null(strstr(text, "\"row\":6,\"run\":2,\"node\":1,")); // five rows of run 1, one before it
    assert_non_null(strstr(text, "\"absorbed\":[{\"node\":2,\"op\":\"MUL\",\"name\":\"attn_norm-0\"}]"));
    assert_non_null(strstr(
        text,
        "\"producers\":[0],\"consumers\":[3],\"previous\":{\"run\":2,\"node\":0},\"next\":{\"run\":2,\"node\":3}"));
    ggs_json_init(&json, ggs_json_to_text, &texts[0], false);
    assert_int_equal(ggs_op_write(&json, &trace, &overview, 2, 4, &error), GGS_ABSENT); // a view is not computed
    assert_int_equal(ggs_op_write(&json, &trace, &overview, 9, 0, &error), GGS_ABSENT);
    for (int i = 0; i < 2; i++) ggs_text_release(&texts[i]);
    ggs_overview_release(&overview);
    recording_close(&r, &trace);
}

// A node of a backend that is seen as a whole has a card: its operands and bytes are known, its
// times are not.
static void test_card_of_an_opaque_node(void ** state) {
    struct recording    r;
    struct ggs_trace    trace;
    struct ggs_overview overview;
    struct ggs_text     text = {0};
    struct ggs_json     json;
    (void) state;
    small_recording(&r);
    recording_run(&r, &(struct ggs_run){.run      = 3,
                                        .graph    = 1,
                                        .step     = 2,
                                        .phase    = GGS_PHASE_GENERATE,
                                        .backend  = recording_string(&r, "Vulkan0"),
                                        .slot     = -1,
                                        .begin_ns = 5000,
                                        .end_ns   = 8000,
                                        .flags    = GGS_RUN_OPAQUE,
                                        .nodes    = SMALL_NODES,
                                        .empty    = 1,
                                        .opaque   = 5});
    recording_row(&r, GGS_TABLE_SUBMITS, &(struct ggs_submit){.run = 3, .node = 3, .submit_ns = 5100, .host_ns = 40});
    recording_step(&r, 2, GGS_PHASE_GENERATE, 3, 5000, 8000, 1);
    recording_done(&r, &trace);
    assert_int_equal(ggs_overview_compute(&overview, &trace, &error), 0);
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    assert_int_equal(ggs_op_write(&json, &trace, &overview, 3, 3, &error), 0);
    assert_int_equal(ggs_json_finish(&json), 0);
    const char * card = ggs_text_string(&text);
    assert_non_null(strstr(card, "\"row\":13,\"run\":3,\"node\":3,")); // five of each run before, three nodes before it
    assert_non_null(strstr(card, "\"backend\":\"Vulkan0\","));
    assert_non_null(strstr(
        card,
        "\"begin_ns\":null,\"duration_ns\":null,\"busy_ns\":null,\"wait_ns\":null,"
        "\"submit_ns\":5100,\"host_ns\":40,\"stalled_ns\":null,\"disk_wait_ns\":null,\"off_cpu_ns\":null,\"threads\":[],\"absorbed\":[],"));
    assert_non_null(strstr(card, "\"name\":\"blk.0.attn_q.weight\""));
    assert_non_null(strstr(card, "\"producers\":[2],\"consumers\":[5],\"previous\":{\"run\":3,\"node\":2},"
                                 "\"next\":{\"run\":3,\"node\":5}"));
    ggs_text_release(&text);
    // From the last op of the run before one comes to its first, and a view has none.
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    assert_int_equal(ggs_op_write(&json, &trace, &overview, 2, 5, &error), 0);
    assert_int_equal(ggs_json_finish(&json), 0);
    assert_non_null(strstr(ggs_text_string(&text), "\"next\":{\"run\":3,\"node\":0}"));
    assert_int_equal(ggs_op_write(&json, &trace, &overview, 3, 4, &error), GGS_ABSENT);
    ggs_text_release(&text);
    ggs_overview_release(&overview);
    recording_close(&r, &trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_who_computes_what),
        cmocka_unit_test(test_several_runs),
        cmocka_unit_test(test_wrong_tensors),
        cmocka_unit_test(test_card_of_a_fused_node),
        cmocka_unit_test(test_card_of_an_opaque_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
