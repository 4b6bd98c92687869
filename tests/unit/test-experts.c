// Unit tests of src/analyze/experts/experts.c and choices.c on three tokens of one layer with four
// experts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/experts/choices.h"
#include "analyze/experts/experts.h"
#include "analyze/ops/log.h"
#include "recording-fixture.h"

static struct ggs_error                 error;
static const struct ggs_experts_options all = {INT64_MIN, INT64_MAX, 0};

// Two matrices of 128 bytes for each of four experts; node 0 chooses, nodes 1 and 2 compute, node 3
// weighs.
static void expert_graph(struct recording * r) {
    recording_open(r);
    recording_file(r, "/gone/moe.gguf", 100000);
    recording_buffer(r, 4096, GGS_CLASS_COMPUTE, 0, -1);
    uint64_t up      = recording_tensor(r, "blk.0.ffn_up_exps.weight", F32, 8, 4, 4, in_file(1, 1000));
    uint64_t down    = recording_tensor(r, "blk.0.ffn_down_exps.weight", F32, 4, 8, 4, in_file(1, 2000));
    uint64_t x       = recording_tensor(r, "x", F32, 8, 1, 2, in_buffer(1));
    uint64_t ids     = recording_tensor(r, "ffn_moe_topk-0", I32, 2, 2, 1, in_buffer(1));
    uint64_t y       = recording_tensor(r, "ffn_moe_up-0", F32, 4, 2, 2, in_buffer(1));
    uint64_t z       = recording_tensor(r, "ffn_moe_down-0", F32, 8, 2, 2, in_buffer(1));
    uint64_t weights = recording_tensor(r, "ffn_moe_weights-0", F32, 1, 2, 2, in_buffer(1));
    uint64_t out     = recording_tensor(r, "ffn_moe_weighted-0", F32, 8, 2, 2, in_buffer(1));
    recording_node(r, 1, OP_ADD, ids, x, 0, 0);
    recording_node(r, 1, OP_MUL_MAT_ID, y, up, x, ids);
    recording_node(r, 1, OP_MUL_MAT_ID, z, down, y, ids);
    recording_node(r, 1, OP_MUL, out, z, weights, 0);
}

static void expert_run(struct recording * r, uint64_t run, int64_t step, const int32_t * chosen, uint64_t n_tokens) {
    int64_t        begin = 1000 * (int64_t) run;
    struct ggs_run row   = {.run      = run,
                            .graph    = 1,
                            .step     = step,
                            .schedule = run,
                            .begin_ns = begin,
                            .end_ns   = begin + 500,
                            .op_runs  = 4,
                            .executed = 4};
    recording_run(r, &row);
    for (uint64_t node = 0; node < 4; node++)
        recording_op_run(r, run, node, 0, begin + 100 * (int64_t) node, 30, 0, 0, 0);
    recording_index(r, run, 1, 2, chosen, 2, n_tokens);
    recording_step(r, step, step == 0 ? GGS_PHASE_PROMPT : GGS_PHASE_GENERATE, run, begin, begin + 500, n_tokens);
}

// The log of the ops that take one expert.
static void test_log_of_an_expert(void ** state) {
    (void) state;
    static const int32_t  prompt[] = {0, 1, 1, 2}, next[] = {2, 1};
    static const uint64_t entries[] = {2, 4, 4, 0}; // two matrices each
    struct recording      r;
    struct ggs_trace      trace;
    expert_graph(&r);
    expert_run(&r, 1, 0, prompt, 2);
    expert_run(&r, 2, 1, next, 1);
    recording_done(&r, &trace);
    for (int64_t expert = 0; expert < 4; expert++) {
        struct ggs_log_filter filter = GGS_LOG_ALL;
        struct ggs_log *      log;
        struct ggs_log_entry  entry;
        uint64_t              n = 0;
        filter.ops.expert       = expert;
        assert_int_equal(ggs_log_open(&log, &trace, &filter, &error), 0);
        while (ggs_log_next(log, &entry, &error) > 0) {
            assert_string_equal(entry.op, "MUL_MAT_ID");
            n++;
        }
        ggs_log_close(log);
        assert_int_equal(n, entries[expert]);
    }
    recording_close(&r, &trace);
}

static void test_three_tokens(void ** state) {
    (void) state;
    static const int32_t prompt[] = {0, 1, 1, 2}, next[] = {2, 1};
    struct recording     r;
    struct ggs_trace     trace;
    struct ggs_experts   e;
    expert_graph(&r);
    expert_run(&r, 1, 0, prompt, 2);
    expert_run(&r, 2, 1, next, 1);
    recording_done(&r, &trace);
    assert_int_equal(ggs_experts_compute(&e, &trace, &all, &error), 0);
    assert_true(e.any);
    assert_int_equal(e.unknown, 0);
    assert_int_equal(e.tokens, 3);
    assert_int_equal(e.n_layers, 1);
    const struct ggs_experts_layer * l = &e.layers[0];
    assert_int_equal(l->layer, 0);
    assert_int_equal(l->experts, 4);
    assert_int_equal(l->used, 2);
    assert_int_equal(l->bytes, 256);
    assert_int_equal(l->activations, 6);
    assert_int_equal(l->counts[0], 1);
    assert_int_equal(l->counts[1], 3);
    assert_int_equal(l->counts[2], 2);
    assert_int_equal(l->counts[3], 0);
    assert_int_equal(l->distinct, 3);
    assert_int_equal(l->most, 3);
    assert_int_equal(l->follows, 2); // 1 2 after 0 1, then the same again
    assert_int_equal(l->chosen, 4);
    assert_int_equal(l->reused, 3);
    assert_int_equal(l->all_predicted, 1);
    assert_int_equal(l->none_predicted, 0);
    assert_int_equal(l->prefetch.n, 2); // from the end of the choice to the begin of the first matrix
    assert_int_equal(l->prefetch.sum_ns, 2 * 70);
    assert_int_equal(e.n_matrices, 2);
    assert_int_equal(e.matrices[0].bytes, (3 + 2) * 128);
    assert_int_equal(e.matrices[1].prefetch.least_ns, 170);
    assert_int_equal(e.n_pairs, 1);
    assert_int_equal(e.pairs[0].a, 1);
    assert_int_equal(e.pairs[0].b, 2);
    assert_int_equal(e.pairs[0].times, 2);
    assert_int_equal(e.n_sets, 2); // windows of one and of two tokens
    assert_int_equal(e.sets[0].sum_experts, 6);
    assert_int_equal(e.sets[1].samples, 2);
    assert_int_equal(e.sets[1].sum_experts, 3 + 2);
    assert_int_equal(e.sets[1].most_bytes, 3 * 256);
    ggs_experts_release(&e);
    recording_close(&r, &trace);
}

static void test_choices_with_their_weights(void ** state) {
    (void) state;
    static const int32_t chosen[]  = {3, 0, 2, 3};
    static const float   weights[] = {0.75f, 0.25f, 0.5f, 0.5f};
    int32_t              bits[4];
    struct recording     r;
    struct ggs_trace     trace;
    struct ggs_walk *    walk;
    struct ggs_choices   c = {0};
    memcpy(bits, weights, sizeof(bits));
    expert_graph(&r);
    expert_run(&r, 1, 0, chosen, 2);
    struct ggs_index row = {.run = 1, .node = 3, .slot = 1, .width = 4, .ne = {1, 2, 2, 1}, .data = bits, .length = 16};
    recording_row(&r, GGS_TABLE_INDEX, &row);
    recording_done(&r, &trace);
    assert_int_equal(ggs_walk_open(&walk, &trace, 0, 0, &error), 0);
    assert_int_equal(ggs_walk_run(walk, &error), 1);
    assert_int_equal(ggs_choices_of(&c, walk, &error), 0);
    assert_int_equal(c.n, 1); // both matrices share it
    assert_int_equal(c.choice[0].node, 1);
    assert_int_equal(c.choice[0].tokens, 2);
    assert_int_equal(c.choice[0].experts[2], 2);
    assert_non_null(c.choice[0].weights);
    assert_true(c.choice[0].weights[0] == 0.75f && c.choice[0].weights[3] == 0.5f);
    assert_null(c.choice[0].probabilities);
    assert_ptr_equal(ggs_choice_of_node(&c, &trace, walk->graph, 2), &c.choice[0]);
    assert_null(ggs_choice_of_node(&c, &trace, walk->graph, 3));
    ggs_choices_release(&c);
    ggs_walk_close(walk);
    recording_close(&r, &trace);
}

// Shapes whose product overflows, more experts than there are, ids that are none: counted as
// unknown, and nothing is read out of bounds.
static void test_damaged_choices(void ** state) {
    (void) state;
    static const int32_t ids[] = {1 << 30, -5, 3, 2};
    struct recording     r;
    struct ggs_trace     trace;
    struct ggs_experts   e;
    expert_graph(&r);
    expert_run(&r, 1, 0, ids, 2);
    struct ggs_run run = {.run = 2, .graph = 1, .step = 1, .op_runs = 1, .executed = 1};
    recording_run(&r, &run);
    recording_op_run(&r, 2, 1, 0, 5000, 10, 0, 0, 0);
    struct ggs_index row = {
        .run = 2, .node = 1, .slot = 2, .width = 4, .ne = {64, 1ull << 58, 1, 1}, .data = ids, .length = 0};
    recording_row(&r, GGS_TABLE_INDEX, &row);
    recording_step(&r, 1, GGS_PHASE_GENERATE, 2, 5000, 5010, 1);
    recording_done(&r, &trace);
    assert_int_equal(ggs_experts_compute(&e, &trace, &all, &error), 0);
    assert_int_equal(e.unknown, 1);
    assert_int_equal(e.layers[0].activations, 2);
    ggs_experts_release(&e);
    recording_close(&r, &trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_of_an_expert),
        cmocka_unit_test(test_three_tokens),
        cmocka_unit_test(test_choices_with_their_weights),
        cmocka_unit_test(test_damaged_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
