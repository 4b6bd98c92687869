// What the names of tensors say, and what the types of tensors are called.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gguf/gguf-name.h"
#include "gguf/gguf-slice.h"
#include "gguf/gguf-type.h"

#if __has_include(<ggml.h>)
#include <ggml.h>
#endif

static void test_names(void ** state) {
    (void) state;
    static const struct {
        const char * name;
        int          layer;
        const char * category;
        const char * component;
    } cases[] = {
        {"token_embd.weight", -1, "input", "Token Embeddings"},
        {"position_embd.weight", -1, "input", "Position Embeddings"},
        {"token_embd_norm.bias", -1, "norm", "Token Embeddings Norm"},
        {"output.weight", -1, "output", "Output Projection"},
        {"output_norm.weight", -1, "norm", "Output Norm"},
        {"dec.output_norm.weight", -1, "norm", "Output Norm"},
        {"rope_freqs.weight", -1, "other", "RoPE Frequencies"},
        {"blk.0.attn_q.weight", 0, "attention", "Attention Q"},
        {"blk.0.attn_q.bias", 0, "attention", "Attention Q"},
        {"blk.12.attn_k.weight", 12, "attention", "Attention K"},
        {"blk.12.attn_v.weight", 12, "attention", "Attention V"},
        {"blk.12.attn_output.weight", 12, "attention", "Attention Output"},
        {"blk.3.attn_qkv.bias", 3, "attention", "Attention QKV"},
        {"blk.3.attn_kv_a_mqa.weight", 3, "attention", "Attention KV A"},
        {"blk.3.attn_kv_a_norm.weight", 3, "norm", "Attention KV A Norm"},
        {"blk.3.attn_q_norm.weight", 3, "norm", "Attention Q Norm"},
        {"blk.3.attn_sinks.weight", 3, "attention", "Attention Sinks"},
        {"blk.3.attn_norm.weight", 3, "norm", "Attention Norm"},
        {"blk.3.post_attention_norm.weight", 3, "norm", "Post Attention Norm"},
        {"blk.3.ffn_norm.weight", 3, "norm", "FFN Norm"},
        {"blk.3.post_ffw_norm.weight", 3, "norm", "Post FFN Norm"},
        {"blk.3.ffn_up.weight", 3, "ffn", "FFN Up"},
        {"blk.3.ffn_down.bias", 3, "ffn", "FFN Down"},
        {"blk.3.ffn_gate.weight", 3, "ffn", "FFN Gate"},
        {"blk.3.ffn_gate_inp.weight", 3, "ffn", "Router"},
        {"blk.3.exp_probs_b.bias", 3, "ffn", "Router"},
        {"blk.3.ffn_gate_inp_shexp.weight", 3, "ffn", "Shared Router"},
        {"blk.3.ffn_up_shexp.weight", 3, "ffn", "Shared FFN Up"},
        {"blk.3.ffn_down_exps.weight", 3, "ffn", "FFN Down Experts"},
        {"blk.3.ffn_gate_exps.bias", 3, "ffn", "FFN Gate Experts"},
        {"blk.3.ffn_down.7.weight", 3, "ffn", "FFN Down Expert 7"},
        {"enc.blk.4.attn_o.weight", 4, "attention", "Attention Output"},
        {"blk.5.ssm_conv1d.weight", 5, "other", "SSM Convolution"},
        {"blk.5.ssm_a", 5, "other", "SSM"},
        {"blk.5.brand_new.weight", 5, "other", "Other"},
        {"blk.x.attn_q.weight", -1, "other", "Other"},
        {"blk.99999999999.attn_q.weight", -1, "other", "Other"},
        {"blk..attn_q.weight", -1, "other", "Other"},
        {"blk.1", -1, "other", "Other"},
        {"", -1, "other", "Other"},
        {".weight", -1, "other", "Other"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char            component[GGS_COMPONENT_LENGTH];
        struct ggs_name name = ggs_name_parse(cases[i].name, strlen(cases[i].name));
        assert_int_equal(name.layer, cases[i].layer);
        assert_string_equal(ggs_category_name(name.category), cases[i].category);
        assert_string_equal(ggs_name_component(component, sizeof component, &name, -1), cases[i].component);
    }
    struct ggs_name name = ggs_name_parse("blk.3.ffn_down_exps.weight", 26);
    char            component[GGS_COMPONENT_LENGTH];
    assert_string_equal(ggs_name_component(component, sizeof component, &name, 7), "FFN Down Expert 7");
    assert_int_equal(name.component_length, strlen("ffn_down_exps"));
    assert_memory_equal(name.component, "ffn_down_exps", name.component_length);
}

static void test_layers(void ** state) {
    (void) state;
    static const struct {
        const char * name;
        int          layer;
    } cases[] = {
        {"blk.7.attn_q.weight", 7},
        {"Qcur-7", 7},
        {"Qcur-7 (reshaped)", 7},
        {"Qcur-12 (view) (permuted)", 12},
        {"cache_k_l7", 7},
        {"cache_v_l31 (view)", 31},
        {"CPU#Qcur-7#0", 7},
        {"blk.3.ffn_up.weight (copy)", 3},
        {"CUDA0#blk.2.attn_k.weight#1", 2},
        {"result_output", -1},
        {"inp_embd", -1},
        {"leaf_12", -1},
        {"node_5", -1},
        {"-7", -1},
        {"", -1},
        {"7", -1},
        {"x-", -1},
        {"x-99999999999", -1},
        {"cache_l7", -1},
        {"ffn_moe_topk-0", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int layer = ggs_name_layer(cases[i].name, strlen(cases[i].name));
        if (layer != cases[i].layer) fail_msg("%s: layer %d, not %d", cases[i].name, layer, cases[i].layer);
    }
}

// The table against the engine's own library, for every type that it knows.
static void test_types_of_library(void ** state) {
    (void) state;
#if defined(GGML_FILE_MAGIC) && defined(GGSCOPE_ENGINE_LIBRARY_DIR)
    void * library = dlopen(GGSCOPE_ENGINE_LIBRARY_DIR "/libggml-base.so", RTLD_NOW);
    if (library == NULL) {
        print_message("skipped: %s\n", dlerror());
        skip();
    }
    const char * (*name_of)(enum ggml_type) = NULL;
    size_t (*size_of)(enum ggml_type)       = NULL;
    int64_t (*block_of)(enum ggml_type)     = NULL;
    *(void **) &name_of                     = dlsym(library, "ggml_type_name");
    *(void **) &size_of                     = dlsym(library, "ggml_type_size");
    *(void **) &block_of                    = dlsym(library, "ggml_blck_size");
    assert_true(name_of != NULL && size_of != NULL && block_of != NULL);
    assert_true(GGML_TYPE_COUNT >= 43);
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const struct ggs_gguf_type * type = ggs_type_find((uint32_t) i);
        if (type == NULL)
            fail_msg("the table has no type %d, which the library calls %s", i, name_of((enum ggml_type) i));
        assert_int_equal(type->removed, block_of((enum ggml_type) i) == 0);
        if (type->removed) continue;
        assert_string_equal(type->name, name_of((enum ggml_type) i));
        assert_int_equal(type->block_elements, block_of((enum ggml_type) i));
        assert_int_equal(type->block_bytes, size_of((enum ggml_type) i));
    }
    dlclose(library);
#else
    print_message("skipped: the engine's headers are not there\n");
    skip();
#endif
}

static void test_printable(void ** state) {
    (void) state;
    char buffer[8];
    assert_string_equal(ggs_printable(buffer, sizeof buffer, "1234567", 7), "1234567");
    assert_string_equal(ggs_printable(buffer, sizeof buffer, "12345678", 8), "1234...");
    assert_string_equal(ggs_printable(buffer, sizeof buffer, "a\0b\n\xff", 5), "a?b??");
    assert_string_equal(ggs_printable(buffer, sizeof buffer, "\xc3\xa4\xc3\xa4\xc3\xa4", 6),
                        "\xc3\xa4\xc3\xa4\xc3\xa4");
    assert_string_equal(ggs_printable(buffer, sizeof buffer, "abc\xc3\xa4\xc3\xa4\xc3\xa4", 9), "abc...");
    assert_string_equal(ggs_printable(buffer, sizeof buffer, "\xc2\x9b", 2), "?"); // the one-character CSI
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_types_of_library),
        cmocka_unit_test(test_printable),
    };
    return cmocka_run_group_tests_name("gguf names", tests, NULL, NULL);
}
