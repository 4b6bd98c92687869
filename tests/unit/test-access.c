// Unit tests of src/analyze/walk/access.c: which bytes an op touches.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analyze/walk/access.h"
#include "recording-fixture.h"

static struct ggs_error error;

struct accesses {
    struct recording         r;
    struct ggs_trace         trace;
    const struct ggs_graph * graph;
    struct ggs_access_list   list;
};

// Graph 1 as run 1 computed it.
static void begin(struct accesses * a) {
    recording_run(&a->r, &(struct ggs_run){.run = 1, .graph = 1});
    recording_done(&a->r, &a->trace);
    a->list = (struct ggs_access_list){0};
    assert_int_equal(ggs_trace_graph(&a->trace, 1, &a->graph, &error), 0);
    struct ggs_run run = {.run = 1, .graph = 1};
    assert_int_equal(ggs_access_begin_run(&a->list, &a->trace, &run, a->graph, &error), 0);
}

static void end(struct accesses * a) {
    ggs_access_release(&a->list);
    recording_close(&a->r, &a->trace);
}

static void look(struct accesses * a, uint64_t node, uint64_t absorbed, unsigned n) {
    assert_int_equal(ggs_access_of(&a->list, &a->trace, a->graph, node, absorbed, &error), 0);
    assert_int_equal(a->list.n, n);
}

static void check(const struct accesses * a, unsigned i, uint64_t slot, bool exact, uint64_t bytes, uint32_t n_ranges) {
    const struct ggs_access * access = &a->list.access[i];
    assert_int_equal(access->slot, slot);
    assert_int_equal(access->write, slot == GGS_ACCESS_RESULT);
    assert_int_equal(access->exact, exact);
    assert_int_equal(access->bytes, bytes);
    assert_int_equal(access->n_ranges, n_ranges);
}

static void check_range(const struct accesses * a, unsigned i, unsigned range, uint64_t offset, uint64_t length) {
    assert_int_equal(a->list.access[i].ranges[range].offset, offset);
    assert_int_equal(a->list.access[i].ranges[range].length, length);
}

static void test_small_graph(void ** state) {
    (void) state;
    struct accesses      a;
    static const int32_t tokens[] = {7, 3, 7};
    recording_open(&a.r);
    small_graph(&a.r, 1);
    recording_index(&a.r, 1, 0, 1, tokens, 3, 1);
    begin(&a);
    look(&a, 0, 0, 3); // rows of the embedding, each once, ascending
    check(&a, 0, 0, true, 64, 2);
    check_range(&a, 0, 0, 3 * 32, 32);
    check_range(&a, 0, 1, 7 * 32, 32);
    check(&a, 1, 1, false, 8, 1);
    check(&a, 2, GGS_ACCESS_RESULT, false, 64, 1);
    look(&a, 1, 1, 3); // fused: what the first hands to the second is not memory traffic
    check(&a, 0, 0, false, 64, 1);
    check(&a, 1, 1, false, 32, 1);
    check(&a, 2, GGS_ACCESS_RESULT, false, 64, 1);
    look(&a, 4, 0, 0); // a view touches nothing
    look(&a, 5, 0, 2); // half of two rows
    check(&a, 0, 0, false, 32, 2);
    check_range(&a, 0, 0, 0, 16);
    check_range(&a, 0, 1, 32, 16);
    struct ggs_access_bytes sum = ggs_access_sum(&a.list);
    assert_int_equal(sum.read, 32);
    assert_int_equal(sum.written, 32);
    assert_int_equal(sum.disk, 0);
    end(&a);
}

static void test_parts_of_a_fused_op_add_up(void ** state) {
    (void) state;
    struct accesses a;
    recording_open(&a.r);
    small_graph(&a.r, 1);
    begin(&a);
    assert_int_equal(ggs_access_of_part(&a.list, &a.trace, a.graph, 1, 1, 0, &error), 0);
    assert_int_equal(a.list.n, 1); // reads embd, writes nothing
    check(&a, 0, 0, false, 64, 1);
    assert_int_equal(ggs_access_of_part(&a.list, &a.trace, a.graph, 1, 1, 1, &error), 0);
    assert_int_equal(a.list.n, 2); // reads the weight, writes its result
    check(&a, 0, 1, false, 32, 1);
    assert_int_equal(ggs_access_sum(&a.list).disk, 32);
    check(&a, 1, GGS_ACCESS_RESULT, false, 64, 1);
    end(&a);
}

static void test_rows_that_are_not_known(void ** state) {
    (void) state;
    struct accesses a;
    recording_open(&a.r);
    small_graph(&a.r, 1);
    begin(&a); // no index data: at most one row for each of the two elements of inp_tokens
    look(&a, 0, 0, 3);
    check(&a, 0, 0, false, 64, 1);
    check_range(&a, 0, 0, 0, 320);
    end(&a);
}

static void test_index_of_another_shape_is_ignored(void ** state) {
    (void) state;
    struct accesses      a;
    static const int32_t tokens[] = {1, 2};
    struct ggs_index     row      = {
                 .run = 1, .slot = 1, .width = 4, .ne = {1ull << 32, 1ull << 32, 1, 1}, .data = tokens, .length = 0};
    recording_open(&a.r);
    small_graph(&a.r, 1);
    recording_row(&a.r, GGS_TABLE_INDEX, &row);
    begin(&a);
    assert_null(ggs_access_values(&a.list, 2));
    end(&a);
}

static void test_rows_written(void ** state) {
    (void) state;
    struct accesses      a;
    static const int32_t rows[] = {4, 5, 1};
    recording_open(&a.r);
    uint64_t buffer = recording_buffer(&a.r, 4096, GGS_CLASS_KV, 0, -1);
    uint64_t k      = recording_tensor(&a.r, "Kcur-0", F32, 8, 3, 1, in_buffer(buffer));
    uint64_t ids    = recording_tensor(&a.r, "k_idxs", I32, 3, 1, 1, in_buffer(buffer));
    uint64_t cache  = recording_tensor(&a.r, "cache_k_l0", F32, 8, 16, 1, in_buffer(buffer));
    recording_node(&a.r, 1, OP_SET_ROWS, cache, k, ids, cache);
    recording_index(&a.r, 1, 0, 1, rows, 3, 1);
    begin(&a);
    look(&a, 0, 0, 3); // the cache itself is not read
    check(&a, 0, 0, false, 96, 1);
    check(&a, 1, 1, false, 12, 1);
    check(&a, 2, GGS_ACCESS_RESULT, true, 96, 2); // rows 4 and 5 lie side by side
    check_range(&a, 2, 0, 32, 32);
    check_range(&a, 2, 1, 128, 64);
    end(&a);
}

static void test_experts(void ** state) {
    (void) state;
    struct accesses      a;
    static const int32_t chosen[] = {6, 1, 1, 9, -1, 6}; // 9 and -1 are no experts
    recording_open(&a.r);
    recording_file(&a.r, "/gone/moe.gguf", 100000);
    uint64_t w   = recording_tensor(&a.r, "blk.0.ffn_up_exps.weight", Q8_0, 32, 4, 8, in_file(1, 500));
    uint64_t x   = recording_tensor(&a.r, "x", F32, 32, 1, 3, in_buffer(0));
    uint64_t ids = recording_tensor(&a.r, "ids", I32, 2, 3, 1, in_buffer(0));
    uint64_t y   = recording_tensor(&a.r, "y", F32, 4, 2, 3, in_buffer(0));
    recording_node(&a.r, 1, OP_MUL_MAT_ID, y, w, x, ids);
    recording_index(&a.r, 1, 0, 2, chosen, 2, 3);
    begin(&a);
    look(&a, 0, 0, 4);
    check(&a, 0, 0, true, 2 * 4 * 34, 2);
    check_range(&a, 0, 0, 1 * 4 * 34, 4 * 34);
    check_range(&a, 0, 1, 6 * 4 * 34, 4 * 34);
    check(&a, 3, GGS_ACCESS_RESULT, false, 4 * 2 * 3 * 4, 1);
    end(&a);
}

static void test_copies_and_permuted_views(void ** state) {
    (void) state;
    struct accesses a;
    recording_open(&a.r);
    struct ggs_tensor turned = {.ne = {2, 8, 1, 1}, .nb = {32, 4, 64, 64}, .source = GGS_SOURCE_BUFFER};
    struct ggs_tensor spread = {.ne = {8, 4, 1, 1}, .nb = {4, 0, 0, 0}, .source = GGS_SOURCE_BUFFER};
    uint64_t          from   = recording_tensor_row(&a.r, "transposed", turned);
    uint64_t          to     = recording_tensor(&a.r, "to", F32, 2, 8, 1, in_buffer(0));
    uint64_t          again  = recording_tensor_row(&a.r, "repeated", spread);
    recording_node(&a.r, 1, OP_CPY, to, from, to, 0);
    recording_node(&a.r, 1, OP_ADD, to, again, 0, 0);
    begin(&a);
    look(&a, 0, 0, 2); // the target of a copy is written, not read
    check(&a, 0, 0, false, 64, 1);
    check(&a, 1, GGS_ACCESS_RESULT, false, 64, 1);
    look(&a, 1, 0, 2); // a row that is repeated is read once
    check(&a, 0, 0, false, 32, 1);
    assert_int_equal(ggs_trace_extent(&a.trace, ggs_trace_tensor(&a.trace, from)), 64);
    end(&a);
}

// ggml_opt_step_adamw: weights, gradients, first moments, second moments, parameters; the result is
// a view of the weights.
static void test_an_optimizer_writes_its_moments(void ** state) {
    (void) state;
    struct accesses a;
    recording_open(&a.r);
    uint64_t w = recording_tensor(&a.r, "w", F32, 8, 4, 1, in_buffer(0));
    uint64_t g = recording_tensor(&a.r, "grad", F32, 8, 4, 1, in_buffer(128));
    uint64_t m = recording_tensor(&a.r, "m", F32, 8, 4, 1, in_buffer(256));
    uint64_t v = recording_tensor(&a.r, "v", F32, 8, 4, 1, in_buffer(384));
    recording_node(&a.r, 1, OP_OPT_STEP_ADAMW, w, w, g, m);
    recording_row(&a.r, GGS_TABLE_EDGES, &(struct ggs_edge){.graph = 1, .node = 0, .slot = 3, .tensor = v});
    begin(&a);
    look(&a, 0, 0, 7);
    struct ggs_access_bytes sum = ggs_access_sum(&a.list);
    assert_int_equal(sum.read, 4 * 128);
    assert_int_equal(sum.written, 3 * 128);
    uint64_t written = 0;
    for (unsigned i = 0; i < a.list.n; i++) written += a.list.access[i].write ? a.list.access[i].tensor->tensor : 0;
    assert_int_equal(written, w + m + v);
    end(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_graph),
        cmocka_unit_test(test_parts_of_a_fused_op_add_up),
        cmocka_unit_test(test_rows_that_are_not_known),
        cmocka_unit_test(test_index_of_another_shape_is_ignored),
        cmocka_unit_test(test_rows_written),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_copies_and_permuted_views),
        cmocka_unit_test(test_an_optimizer_writes_its_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
