// Which weights an engine copies into layouts of its own, and how many bytes the copies take.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gguf/gguf-split.h"
#include "gguf/gguf.h"
#include "record/memory/copies.h"

enum { F16 = 1, Q4_0 = 2, Q8_0 = 8, Q2_K = 10, Q4_K = 12, Q6_K = 14 };

#define TENSOR(text, kind, columns, rows, experts, bytes)                                                         \
    {                                                                                                             \
        .name = (text), .name_length = sizeof(text) - 1, .type = (kind), .ne = {(columns), (rows), (experts), 1}, \
        .size = (bytes), .n_dims = (experts) > 1 ? 3 : 2                                                          \
    }

static uint64_t copied(struct ggs_gguf_tensor * tensors, size_t n, struct ggs_cpu_layouts layouts,
                       const char * option) {
    struct ggs_gguf   file      = {.tensors = tensors, .n_tensors = n};
    struct ggs_gguf * files[]   = {&file};
    struct ggs_model  model     = {.files = files, .n_files = 1, .size = 1 << 20};
    char *            command[] = {"program", (char *) option, NULL};
    struct ggs_copies copies;
    ggs_copies_find(&copies, &model, command, &layouts);
    return copies.bytes;
}

static const struct ggs_cpu_layouts none = {0}, avx2 = {.repack = true}, avx512 = {.repack = true, .wide = true},
                                    amx = {.repack = true, .wide = true, .tiles = true};

static void test_types_by_layout(void ** state) {
    (void) state;
    struct ggs_gguf_tensor q4_K = TENSOR("output.weight", Q4_K, 256, 64, 1, 144 * 64);
    struct ggs_gguf_tensor q2_K = TENSOR("output.weight", Q2_K, 256, 64, 1, 84 * 64);
    struct ggs_gguf_tensor q6_K = TENSOR("output.weight", Q6_K, 256, 64, 1, 210 * 64);
    struct ggs_gguf_tensor q8_0 = TENSOR("output.weight", Q8_0, 64, 64, 1, 34 * 2 * 64);
    struct ggs_gguf_tensor f16  = TENSOR("output.weight", F16, 48, 64, 1, 2 * 48 * 64);
    const struct {
        struct ggs_gguf_tensor * tensor;
        uint64_t                 none, avx2, avx512, amx;
    } expected[] = {{&q4_K, 0, 144 * 64, 144 * 64, 148 * 64}, // a block of 144 bytes takes 148 for tiles
                    {&q2_K, 0, 0, 84 * 64, 84 * 64},
                    {&q6_K, 0, 0, 0, 210 * 64},
                    {&q8_0, 0, 0, 0, 38 * 2 * 64},
                    {&f16, 0, 0, 0, 2 * 48 * 64}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(copied(expected[i].tensor, 1, none, NULL), expected[i].none);
        assert_int_equal(copied(expected[i].tensor, 1, avx2, NULL), expected[i].avx2);
        assert_int_equal(copied(expected[i].tensor, 1, avx512, NULL), expected[i].avx512);
        assert_int_equal(copied(expected[i].tensor, 1, amx, NULL), expected[i].amx);
        assert_int_equal(copied(expected[i].tensor, 1, amx, "--no-repack"), 0);
        assert_int_equal(copied(expected[i].tensor, 1, none, "--no-mmap"), expected[i].tensor->size);
    }
}

static void test_shapes(void ** state) {
    (void) state;
    struct ggs_gguf_tensor rows    = TENSOR("output.weight", Q8_0, 64, 40, 1, 34 * 2 * 40);
    struct ggs_gguf_tensor odd     = TENSOR("output.weight", Q4_0, 64, 42, 1, 18 * 2 * 42);
    struct ggs_gguf_tensor experts = TENSOR("blk.0.ffn_up_exps.weight", Q4_0, 64, 64, 8, 18 * 2 * 64 * 8);
    struct ggs_gguf_tensor wide    = TENSOR("blk.0.ffn_up_exps.weight", Q8_0, 64, 64, 8, 34 * 2 * 64 * 8);
    assert_int_equal(copied(&rows, 1, amx, NULL), 0); // tiles come in pairs of 16 rows
    assert_int_equal(copied(&odd, 1, amx, NULL), 0);  // rows are interleaved by eight
    assert_int_equal(copied(&experts, 1, amx, NULL), experts.size);
    assert_int_equal(copied(&wide, 1, amx, NULL), 0); // no tiles for chosen experts
}

static void test_embedding(void ** state) {
    (void) state;
    struct ggs_gguf_tensor both[] = {TENSOR("token_embd.weight", Q4_K, 256, 64, 1, 144 * 64),
                                     TENSOR("output.weight", Q4_K, 256, 32, 1, 144 * 32)};
    assert_int_equal(copied(both, 2, avx2, NULL), both[1].size);
    assert_int_equal(copied(both, 1, avx2, NULL), both[0].size); // it is the output too
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types_by_layout), cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_embedding)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
