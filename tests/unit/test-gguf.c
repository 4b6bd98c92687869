// The GGUF reader on files made by hand, good and bad.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"
#include "gguf/extents.h"
#include "gguf/gguf-entry.h"
#include "gguf/gguf-map.h"
#include "gguf/gguf-slice.h"
#include "gguf/gguf-split.h"
#include "gguf/gguf-type.h"
#include "gguf/gguf.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#if __has_include(<ggml.h>)
#include <ggml.h>
#endif

#define TENSOR_COUNT_AT 8
#define KV_COUNT_AT     16

// ---- files by hand --------------------------------------------------------------------------------------------------

static void put(struct ggs_text * file, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; i++) ggs_text_putc(file, (char) (value >> (8 * i)));
}

static void put_string(struct ggs_text * file, const char * string) {
    put(file, strlen(string), 8);
    ggs_text_puts(file, string);
}

static void put_header(struct ggs_text * file, uint64_t n_tensors, uint64_t n_kvs) {
    ggs_text_puts(file, "GGUF");
    put(file, 3, 4);
    put(file, n_tensors, 8);
    put(file, n_kvs, 8);
}

static void put_kv_u32(struct ggs_text * file, const char * key, uint32_t value) {
    put_string(file, key);
    put(file, GGS_GGUF_U32, 4);
    put(file, value, 4);
}

static void put_kv_string(struct ggs_text * file, const char * key, const char * value) {
    put_string(file, key);
    put(file, GGS_GGUF_STRING, 4);
    put_string(file, value);
}

static void put_tensor(struct ggs_text * file, const char * name, uint32_t type, uint64_t columns, uint64_t rows,
                       uint64_t offset) {
    put_string(file, name);
    put(file, 2, 4);
    put(file, columns, 8);
    put(file, rows, 8);
    put(file, type, 4);
    put(file, offset, 8);
}

static void pad(struct ggs_text * file, size_t alignment) {
    while (file->length % alignment != 0) ggs_text_putc(file, 0);
}

static void put_zeros(struct ggs_text * file, size_t count) {
    for (size_t i = 0; i < count; i++) ggs_text_putc(file, 0);
}

// Two tensors, f32 of 8 x 1 (32 bytes) and f16 of 10 x 1 (20 bytes, 12 of padding), data at a multiple of 32.
static struct ggs_text small_file(void) {
    struct ggs_text file = {0};
    put_header(&file, 2, 2);
    put_kv_string(&file, "general.architecture", "llama");
    put_kv_u32(&file, "llama.block_count", 1);
    put_tensor(&file, "token_embd.weight", 0, 8, 1, 0);
    put_tensor(&file, "blk.0.attn_q.weight", 1, 10, 1, 32);
    pad(&file, 32);
    put_zeros(&file, 64);
    return file;
}

static void poke(struct ggs_text * file, size_t at, uint64_t value, unsigned width) {
    assert_true(at + width <= file->length);
    for (unsigned i = 0; i < width; i++) file->data[at + i] = (char) (value >> (8 * i));
}

static struct ggs_gguf * opened(const struct ggs_text * file) {
    struct ggs_gguf * gguf  = NULL;
    struct ggs_error  error = {0};
    // A copy of the exact size, so that the sanitizer sees any byte read behind it.
    char * copy = malloc(file->length + (file->length == 0));
    memcpy(copy, file->data, file->length);
    if (ggs_gguf_open_memory(&gguf, copy, file->length, "made", &error) < 0) fail_msg("%s", error.text);
    gguf->metadata = (uint8_t *) copy; // freed with it
    return gguf;
}

// The file is refused with a sentence that holds `expected`. Frees the file.
static void refused(struct ggs_text * file, int status, const char * expected) {
    struct ggs_gguf * gguf  = (struct ggs_gguf *) file;
    struct ggs_error  error = {0};
    char *            copy  = malloc(file->length + (file->length == 0));
    if (file->length > 0) memcpy(copy, file->data, file->length);
    assert_int_equal(ggs_gguf_open_memory(&gguf, copy, file->length, "made", &error), status);
    assert_null(gguf);
    assert_int_equal(error.status, status);
    if (strstr(error.text, expected) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, expected);
    if (strstr(error.text, "offset") == NULL) fail_msg("\"%s\" names no offset", error.text);
    assert_int_equal(strncmp(error.text, "made: ", 6), 0);
    assert_null(strchr(error.text, '\n'));
    // The error is optional.
    assert_int_equal(ggs_gguf_open_memory(&gguf, copy, file->length, "made", NULL), status);
    free(copy);
    ggs_text_release(file);
}

// ---- good files -----------------------------------------------------------------------------------------------------

static void test_small(void ** state) {
    (void) state;
    struct ggs_text   file = small_file();
    struct ggs_gguf * gguf = opened(&file);
    assert_int_equal(gguf->version, 3);
    assert_int_equal(gguf->alignment, 32);
    assert_int_equal(gguf->n_kvs, 2);
    assert_int_equal(gguf->n_tensors, 2);
    assert_int_equal(gguf->data_offset, file.length - 64);
    assert_int_equal(gguf->tensors[0].offset, file.length - 64);
    assert_int_equal(gguf->tensors[0].size, 32);
    assert_int_equal(gguf->tensors[1].offset, file.length - 32);
    assert_int_equal(gguf->tensors[1].size, 20);
    assert_true(gguf->tensors[1].size_known);
    uint64_t layers = 0;
    assert_true(ggs_gguf_get_hparam(gguf, "block_count", &layers));
    assert_int_equal(layers, 1);
    assert_false(ggs_gguf_get_hparam(gguf, "absent", &layers));

    struct ggs_gguf_map map;
    assert_int_equal(ggs_gguf_map_init(&map, gguf, NULL), 0);
    uint64_t end = 0;
    for (size_t i = 0; i < map.n_regions; i++) {
        assert_int_equal(map.regions[i].offset, end);
        end += map.regions[i].size;
    }
    assert_int_equal(end, file.length);
    assert_int_equal(map.bytes[GGS_REGION_HEADER], 24);
    assert_int_equal(map.bytes[GGS_REGION_TENSOR], 52);
    assert_int_equal(map.bytes[GGS_REGION_TRAILING], 0);
    ggs_gguf_map_release(&map);
    ggs_gguf_free(gguf);
    ggs_text_release(&file);
}

static void test_version_2(void ** state) {
    (void) state;
    struct ggs_text file = small_file();
    poke(&file, 4, 2, 4);
    struct ggs_gguf * gguf = opened(&file);
    assert_int_equal(gguf->version, 2);
    ggs_gguf_free(gguf);
    ggs_text_release(&file);
}

static void test_values(void ** state) {
    (void) state;
    struct ggs_text file = {0};
    put_header(&file, 0, 13);
    const uint64_t                        minus      = (uint64_t) -5;
    static const enum ggs_gguf_value_type integers[] = {GGS_GGUF_U8,  GGS_GGUF_I8,  GGS_GGUF_U16, GGS_GGUF_I16,
                                                        GGS_GGUF_U32, GGS_GGUF_I32, GGS_GGUF_U64, GGS_GGUF_I64};
    for (size_t i = 0; i < 8; i++) {
        put_string(&file, ggs_gguf_value_type_name(integers[i]));
        put(&file, integers[i], 4);
        put(&file, minus, ggs_gguf_value_width(integers[i]));
    }
    put_string(&file, "f32");
    put(&file, GGS_GGUF_F32, 4);
    put(&file, 0x3fc00000, 4); // 1.5
    put_string(&file, "f64");
    put(&file, GGS_GGUF_F64, 4);
    put(&file, 0xbff8000000000000, 8); // -1.5
    put_string(&file, "bool");
    put(&file, GGS_GGUF_BOOL, 4);
    put(&file, 7, 1);
    put_string(&file, "names");
    put(&file, GGS_GGUF_ARRAY, 4);
    put(&file, GGS_GGUF_STRING, 4);
    put(&file, 3, 8);
    put_string(&file, "one");
    put_string(&file, "");
    put_string(&file, "three");
    put_string(&file, "nothing");
    put(&file, GGS_GGUF_ARRAY, 4);
    put(&file, GGS_GGUF_U64, 4);
    put(&file, 0, 8);

    struct ggs_gguf *     gguf = opened(&file);
    struct ggs_gguf_value value;
    for (size_t i = 0; i < gguf->n_kvs; i++) {
        const struct ggs_gguf_kv * kv     = &gguf->kvs[i];
        struct ggs_gguf_values     values = ggs_gguf_values(kv);
        if (kv->array) continue;
        assert_true(ggs_gguf_next(&values, &value));
        unsigned width = ggs_gguf_value_width(kv->type);
        switch (kv->type) {
            case GGS_GGUF_I8:
            case GGS_GGUF_I16:
            case GGS_GGUF_I32:
            case GGS_GGUF_I64:
                assert_int_equal(value.i64, -5);
                break;
            case GGS_GGUF_F32:
                assert_true(value.f64 == 1.5);
                break;
            case GGS_GGUF_F64:
                assert_true(value.f64 == -1.5);
                break;
            case GGS_GGUF_BOOL:
                assert_int_equal(value.u64, 1);
                break;
            default:
                assert_true(value.u64 == (width == 8 ? minus : (minus & ((1ull << (8 * width)) - 1))));
                break;
        }
        assert_false(ggs_gguf_next(&values, &value));
    }
    struct ggs_gguf_values names = ggs_gguf_values(ggs_gguf_find(gguf, "names"));
    assert_true(ggs_gguf_next(&names, &value) && value.length == 3 && memcmp(value.string, "one", 3) == 0);
    assert_true(ggs_gguf_next(&names, &value) && value.length == 0);
    assert_true(ggs_gguf_next(&names, &value) && value.length == 5);
    assert_false(ggs_gguf_next(&names, &value));
    struct ggs_gguf_values nothing = ggs_gguf_values(ggs_gguf_find(gguf, "nothing"));
    assert_false(ggs_gguf_next(&nothing, &value));
    uint64_t number;
    assert_false(ggs_gguf_get_u64(gguf, "i32", &number)); // negative
    assert_false(ggs_gguf_get_u64(gguf, "f32", &number));
    assert_true(ggs_gguf_get_u64(gguf, "u8", &number) && number == 251);
    ggs_gguf_free(gguf);
    ggs_text_release(&file);
}

static void test_unknown_type(void ** state) {
    (void) state;
    struct ggs_text file = {0};
    put_header(&file, 3, 0);
    put_tensor(&file, "a", 99, 7, 3, 64); // lies between the two others
    put_tensor(&file, "b", 0, 8, 1, 0);
    put_tensor(&file, "c", 99, 1, 1, 160);
    pad(&file, 32);
    put_zeros(&file, 200);
    struct ggs_gguf * gguf = opened(&file);
    assert_false(gguf->tensors[0].size_known);
    assert_int_equal(gguf->tensors[0].size, 96);
    assert_int_equal(gguf->tensors[2].size, 40); // to the end of the file
    // b ends at 32 and a begins at 64: 32 bytes belong to nothing, although all offsets are aligned.
    struct ggs_gguf_map map;
    struct ggs_error    error = {0};
    assert_int_equal(ggs_gguf_map_init(&map, gguf, &error), GGS_FORMAT);
    assert_non_null(strstr(error.text, "between tensor \"b\" and tensor \"a\" belong to nothing"));
    char name[GGS_TYPE_NAME_LENGTH];
    assert_string_equal(ggs_type_name(name, sizeof name, 99), "type 99?");
    ggs_gguf_free(gguf);
    ggs_text_release(&file);
}

static void test_trailing(void ** state) {
    (void) state;
    struct ggs_text file = small_file();
    put_zeros(&file, 5);
    struct ggs_gguf *   gguf = opened(&file);
    struct ggs_gguf_map map;
    assert_int_equal(ggs_gguf_map_init(&map, gguf, NULL), 0);
    assert_int_equal(map.bytes[GGS_REGION_TRAILING], 5);
    assert_int_equal(map.regions[map.n_regions - 1].kind, GGS_REGION_TRAILING);
    ggs_gguf_map_release(&map);
    ggs_gguf_free(gguf);
    // Without the last padding the file is as good: llama.cpp reads no further than the last tensor.
    file.length -= 5 + 12;
    gguf = opened(&file);
    assert_int_equal(ggs_gguf_map_init(&map, gguf, NULL), 0);
    assert_int_equal(map.regions[map.n_regions - 1].kind, GGS_REGION_TENSOR);
    ggs_gguf_map_release(&map);
    ggs_gguf_free(gguf);
    ggs_text_release(&file);
}

// ---- bad files ------------------------------------------------------------------------------------------------------

static void test_bad_header(void ** state) {
    (void) state;
    struct ggs_text file = {0};
    refused(&file, GGS_FORMAT, "an empty file");
    ggs_text_puts(&file, "GG");
    refused(&file, GGS_FORMAT, "not a whole GGUF file");
    file = small_file();
    poke(&file, 0, 'g', 1);
    refused(&file, GGS_FORMAT, "not a GGUF file (bytes 67 47 55 46 at offset 0)");
    static const struct {
        uint32_t     version;
        const char * says;
    } versions[] = {
        {0, "version 0"}, {1, "version 1"}, {4, "version 4"}, {0x03000000, "big-endian"}, {0x02000000, "big-endian"}};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        file = small_file();
        poke(&file, 4, versions[i].version, 4);
        refused(&file, GGS_UNSUPPORTED, versions[i].says);
    }
    static const uint64_t counts[] = {1ull << 60, UINT64_MAX, 1ull << 63, 100};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        file = small_file();
        poke(&file, TENSOR_COUNT_AT, counts[i], 8);
        refused(&file, GGS_FORMAT, "the number of tensors at offset 8");
        file = small_file();
        poke(&file, KV_COUNT_AT, counts[i], 8);
        refused(&file, GGS_FORMAT, "the number of key-values at offset 16");
    }
}

// Every prefix of a good file but the one that ends in its last padding is refused.
static void test_truncated_everywhere(void ** state) {
    (void) state;
    struct ggs_text whole = small_file();
    for (size_t length = 0; length < whole.length - 12; length++) {
        struct ggs_text part = {0};
        ggs_text_append(&part, whole.data, length);
        refused(&part, GGS_FORMAT, "offset");
    }
    ggs_text_release(&whole);
}

static void test_bad_key_values(void ** state) {
    (void) state;
    static const uint64_t lengths[] = {1ull << 60, UINT64_MAX, UINT64_MAX - 31, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct ggs_text file = small_file();
        poke(&file, 24, lengths[i], 8);
        refused(&file, GGS_FORMAT, "a key at offset 32");
    }
    struct ggs_text file = {0};
    put_header(&file, 0, 1);
    put_string(&file, "");
    put_zeros(&file, 16);
    refused(&file, GGS_FORMAT, "is empty");

    file = (struct ggs_text){0};
    put_header(&file, 0, 1);
    put_string(&file, "odd\x1b[31m");
    put(&file, 13, 4);
    put_zeros(&file, 32);
    refused(&file, GGS_FORMAT, "key \"odd?[31m\" has the value type 13");

    file = (struct ggs_text){0};
    put_header(&file, 0, 1);
    put_string(&file, "nested");
    put(&file, GGS_GGUF_ARRAY, 4);
    put(&file, GGS_GGUF_ARRAY, 4);
    put(&file, 1, 8);
    put_zeros(&file, 32);
    refused(&file, GGS_UNSUPPORTED, "array of arrays");

    for (unsigned type = GGS_GGUF_U8; type <= GGS_GGUF_F64; type++) {
        if (type == GGS_GGUF_ARRAY) continue;
        file = (struct ggs_text){0};
        put_header(&file, 0, 1);
        put_string(&file, "many");
        put(&file, GGS_GGUF_ARRAY, 4);
        put(&file, type, 4);
        put(&file, UINT64_MAX / 2, 8);
        put_string(&file, "x");
        refused(&file, GGS_FORMAT, "truncated or damaged");
    }

    file = (struct ggs_text){0};
    put_header(&file, 0, 3);
    put_kv_u32(&file, "a", 1);
    put_kv_u32(&file, "b", 1);
    put_kv_u32(&file, "a", 1);
    refused(&file, GGS_FORMAT, "key \"a\" is there twice, at offset 24 and at offset 58");
}

static void test_bad_alignment(void ** state) {
    (void) state;
    static const struct {
        uint32_t     alignment;
        const char * says;
    } cases[] = {
        {0, "is 0"}, {3, "is 3"}, {33, "is 33"}, {1u << 31, "past the file's end"}, {UINT32_MAX, "is 4294967295"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ggs_text file = {0};
        put_header(&file, 1, 1);
        put_kv_u32(&file, "general.alignment", cases[i].alignment);
        put_tensor(&file, "a", 0, 1, 1, 0);
        put_zeros(&file, 128);
        refused(&file, GGS_FORMAT, cases[i].says);
    }
    struct ggs_text file = {0};
    put_header(&file, 0, 1);
    put_kv_string(&file, "general.alignment", "32");
    refused(&file, GGS_FORMAT, "is of type string");

    file = (struct ggs_text){0}; // 8 is fine, and respected
    put_header(&file, 1, 1);
    put_kv_u32(&file, "general.alignment", 8);
    put_tensor(&file, "a", 0, 2, 1, 0);
    pad(&file, 8);
    put_zeros(&file, 8);
    struct ggs_gguf * gguf = opened(&file);
    assert_int_equal(gguf->data_offset, file.length - 8);
    ggs_gguf_free(gguf);
    ggs_text_release(&file);
}

static void refused_tensor(uint32_t type, uint64_t columns, uint64_t rows, uint64_t offset, const char * says) {
    struct ggs_text file = {0};
    put_header(&file, 1, 0);
    put_tensor(&file, "it", type, columns, rows, offset);
    pad(&file, 32);
    put_zeros(&file, 64);
    refused(&file, GGS_FORMAT, says);
}

static void test_bad_tensors(void ** state) {
    (void) state;
    refused_tensor(0, 17, 1, 0, "tensor \"it\" takes 68 bytes from offset 96, but the file ends at offset 160");
    refused_tensor(0, 1, 1, 96, "begins 96 bytes into the data");
    refused_tensor(0, 1, 1, UINT64_MAX, "begins 18446744073709551615 bytes");
    refused_tensor(0, 1, 1, UINT64_MAX - 95, "begins");
    refused_tensor(0, UINT64_MAX, 1, 0, "an impossible dimension");
    refused_tensor(0, 1ull << 40, 1ull << 40, 0, "more elements than can be counted");
    refused_tensor(0, 1ull << 62, 1, 0, "more bytes than can be counted");
    refused_tensor(0, 1ull << 61, 1, 0, "takes");
    refused_tensor(12, 255, 1, 0, "not whole blocks");
    refused_tensor(99, 1ull << 40, 1ull << 40, 0, "more elements than can be counted");

    struct ggs_text file = {0};
    put_header(&file, 1, 0);
    put_string(&file, "deep");
    put(&file, 5, 4);
    put_zeros(&file, 128);
    refused(&file, GGS_FORMAT, "more than 4 dimensions");

    file = (struct ggs_text){0};
    put_header(&file, 2, 0);
    put_tensor(&file, "same", 0, 8, 1, 0);
    put_tensor(&file, "same", 0, 8, 1, 32);
    pad(&file, 32);
    put_zeros(&file, 64);
    refused(&file, GGS_FORMAT, "the tensor name \"same\" is there twice, at offset 24 and at offset 68");
}

static void refused_map(uint64_t first, uint64_t second, const char * says) {
    struct ggs_text file = {0};
    put_header(&file, 2, 0);
    put_tensor(&file, "one", 0, 8, 1, first);
    put_tensor(&file, "two", 0, 8, 1, second);
    pad(&file, 32);
    put_zeros(&file, 256);
    struct ggs_gguf *   gguf  = opened(&file);
    struct ggs_error    error = {0};
    struct ggs_gguf_map map;
    assert_int_equal(ggs_gguf_map_init(&map, gguf, &error), GGS_FORMAT);
    if (strstr(error.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, says);
    ggs_gguf_map_release(&map);
    ggs_gguf_free(gguf);
    ggs_text_release(&file);
}

static void test_bad_maps(void ** state) {
    (void) state;
    refused_map(
        0, 0,
        "tensor \"one\", which ends at offset 160, and tensor \"two\", which begins at offset 128, overlap by 32 bytes");
    refused_map(32, 16, "tensor \"two\" begins at offset 144, which is not a multiple");
    refused_map(0, 16, "overlap by 16 bytes");
    refused_map(
        0, 64,
        "the 32 bytes from offset 160 to offset 192 between tensor \"one\" and tensor \"two\" belong to nothing");
    refused_map(32, 64, "between the tensor infos and tensor \"one\"");
    refused_map(0, 40, "not a multiple of the file's alignment");
}

// Sorting, not comparing all pairs: 200,000 keys take a moment, not an hour.
static void test_many_keys(void ** state) {
    (void) state;
    struct ggs_text file = {0};
    const unsigned  n    = 200000;
    put_header(&file, 0, n);
    for (unsigned i = 0; i < n; i++) {
        char key[24];
        snprintf(key, sizeof key, "key.%u", i == n - 1 ? 0 : i);
        put_kv_u32(&file, key, i);
    }
    refused(&file, GGS_FORMAT, "key \"key.0\" is there twice");
}

// ---- names and types ------------------------------------------------------------------------------------------------

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

static void test_experts(void ** state) {
    (void) state;
    struct ggs_text file = {0};
    put_header(&file, 2, 0);
    put_string(&file, "blk.0.ffn_down_exps.weight");
    put(&file, 3, 4);
    put(&file, 4, 8);
    put(&file, 2, 8);
    put(&file, 3, 8); // three experts of 4 x 2 f32: 32 bytes each
    put(&file, 0, 4);
    put(&file, 0, 8);
    put_tensor(&file, "blk.0.ffn_down_exps.bias", 0, 2, 3, 96); // three of 2: 8 bytes each
    pad(&file, 32);
    put_zeros(&file, 96 + 24);
    struct ggs_gguf *   gguf = opened(&file);
    struct ggs_gguf_map map;
    assert_int_equal(ggs_gguf_map_init(&map, gguf, NULL), 0);
    struct ggs_entries entries = ggs_entries(gguf, &map, true);
    struct ggs_entry   entry;
    for (unsigned i = 0; i < 6; i++) {
        struct ggs_text name = {0};
        char            expected[64];
        assert_true(ggs_entries_next(&entries, &entry));
        ggs_entry_append_name(&name, &entry);
        snprintf(expected, sizeof expected, "blk.0.ffn_down_exps.%s[%u]", i < 3 ? "weight" : "bias", i % 3);
        assert_string_equal(ggs_text_string(&name), expected);
        assert_int_equal(entry.size, i < 3 ? 32 : 8);
        assert_int_equal(entry.offset, gguf->data_offset + (i < 3 ? 32 * i : 96 + 8 * (i - 3)));
        assert_int_equal(entry.n_dims, i < 3 ? 2 : 1);
        assert_int_equal(ggs_entry_expert(&entry), i % 3);
        ggs_text_release(&name);
    }
    assert_false(ggs_entries_next(&entries, &entry));
    ggs_gguf_map_release(&map);
    ggs_gguf_free(gguf);
    ggs_text_release(&file);
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

// ---- files on disk --------------------------------------------------------------------------------------------------

static char directory[160];

static char * in_directory(char * path, size_t size, const char * name) {
    snprintf(path, size, "%s/%s", directory, name);
    return path;
}

static void write_file(const char * name, const struct ggs_text * contents) {
    char   path[256];
    FILE * file = fopen(in_directory(path, sizeof path, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(contents->length > 0 ? contents->data : "", 1, contents->length, file), contents->length);
    assert_int_equal(fclose(file), 0);
}

static void model_refused(const char * name, int status, const char * says) {
    char               path[256];
    struct ggs_error   error = {0};
    struct ggs_model * model = NULL;
    int                got   = ggs_model_open(&model, in_directory(path, sizeof path, name), &error);
    if (got != status) fail_msg("%s: status %d, not %d (%s)", name, got, status, error.text);
    assert_null(model);
    if (strstr(error.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, says);
}

static void test_irregular_files(void ** state) {
    (void) state;
    char            path[256];
    struct ggs_text nothing = {0};
    write_file("empty.gguf", &nothing);
    assert_int_equal(mkfifo(in_directory(path, sizeof path, "pipe.gguf"), 0600), 0);
    model_refused("empty.gguf", GGS_FORMAT, "empty.gguf: an empty file");
    model_refused("pipe.gguf", GGS_FORMAT, "pipe.gguf: this is a pipe");
    model_refused(".", GGS_FORMAT, "this is a directory");
    model_refused("absent.gguf", GGS_IO, "No such file or directory");
    struct ggs_gguf * gguf  = NULL;
    struct ggs_error  error = {0};
    assert_int_equal(ggs_gguf_open(&gguf, "/dev/zero", &error), GGS_FORMAT);
    assert_non_null(strstr(error.text, "a device"));
}

// A sparse file that claims metadata without end costs neither memory nor time.
static void test_endless_metadata(void ** state) {
    (void) state;
    struct ggs_text file = {0};
    put_header(&file, 0, 1);
    put_string(&file, "long");
    put(&file, GGS_GGUF_ARRAY, 4);
    put(&file, GGS_GGUF_STRING, 4);
    put(&file, 1ull << 36, 8);
    write_file("endless.gguf", &file);
    char path[256];
    assert_int_equal(truncate(in_directory(path, sizeof path, "endless.gguf"), 1ll << 40), 0);
    model_refused("endless.gguf", GGS_FORMAT, "would make the metadata larger than 256 MiB");
    ggs_text_release(&file);
}

static struct ggs_text shard(unsigned number, unsigned count, unsigned total, const char * tensor) {
    struct ggs_text file = {0};
    put_header(&file, 1, 3);
    put_kv_u32(&file, "split.no", number);
    put_kv_u32(&file, "split.count", count);
    put_kv_u32(&file, "split.tensors.count", total);
    put_tensor(&file, tensor, 0, 8, 1, 0);
    pad(&file, 32);
    put_zeros(&file, 32);
    return file;
}

static void write_shard(const char * name, unsigned number, unsigned count, unsigned total, const char * tensor) {
    struct ggs_text file = shard(number, count, total, tensor);
    write_file(name, &file);
    ggs_text_release(&file);
}

static void test_split(void ** state) {
    (void) state;
    char path[256];
    write_shard("m-00001-of-00003.gguf", 0, 3, 3, "a");
    write_shard("m-00002-of-00003.gguf", 1, 3, 3, "b");
    model_refused("m-00001-of-00003.gguf", GGS_IO, "m-00003-of-00003.gguf: cannot open: No such file");
    write_shard("m-00003-of-00003.gguf", 2, 3, 3, "c");
    for (unsigned i = 1; i <= 3; i++) { // from any of them
        char               name[64];
        struct ggs_model * model = NULL;
        snprintf(name, sizeof name, "m-0000%u-of-00003.gguf", i);
        assert_int_equal(ggs_model_open(&model, in_directory(path, sizeof path, name), NULL), 0);
        assert_int_equal(model->n_files, 3);
        assert_int_equal(model->n_tensors, 3);
        assert_memory_equal(model->files[1]->tensors[0].name, "b", 1);
        ggs_model_free(model);
    }
    // The third claims to be the first: going round in circles.
    write_shard("m-00003-of-00003.gguf", 0, 3, 3, "c");
    model_refused("m-00001-of-00003.gguf", GGS_FORMAT, "m-00003-of-00003.gguf: by its name file 3 of 3, but");
    model_refused("m-00003-of-00003.gguf", GGS_FORMAT, "its name does not end in \"-00001-of-00003.gguf\"");
    write_shard("m-00003-of-00003.gguf", 2, 4, 3, "c");
    model_refused("m-00001-of-00003.gguf", GGS_FORMAT, "say 3 of 4");
    write_shard("m-00003-of-00003.gguf", 2, 3, 3, "a");
    model_refused("m-00002-of-00003.gguf", GGS_FORMAT, "tensor \"a\" is in two files");
    write_shard("m-00003-of-00003.gguf", 2, 3, 3, "c");
    write_shard("m-00001-of-00003.gguf", 0, 3, 5, "a");
    model_refused("m-00002-of-00003.gguf", GGS_FORMAT, "promises 5 tensors, but the 3 files have 3");
    write_shard("m-00001-of-00003.gguf", 3, 3, 3, "a");
    model_refused("m-00001-of-00003.gguf", GGS_FORMAT, "does not say which");
    write_shard("m-00001-of-00003.gguf", 0, 70000, 3, "a");
    model_refused("m-00001-of-00003.gguf", GGS_FORMAT, "split.count at offset");
    struct ggs_text cut = shard(0, 3, 3, "a");
    cut.length          = 40;
    write_file("m-00001-of-00003.gguf", &cut);
    model_refused("m-00002-of-00003.gguf", GGS_FORMAT, "(it is file 1 of 3 of this model)");
    ggs_text_release(&cut);
    write_shard("renamed.gguf", 0, 3, 3, "a");
    model_refused("renamed.gguf", GGS_FORMAT, "give it its name back");
    write_shard("alone.gguf", 0, 1, 1, "a"); // a split of one is whole, whatever it is called
    struct ggs_model * model = NULL;
    assert_int_equal(ggs_model_open(&model, in_directory(path, sizeof path, "alone.gguf"), NULL), 0);
    ggs_model_free(model);
}

static void test_extents(void ** state) {
    (void) state;
    struct ggs_extent  list[]  = {{0, 4096, 100, true}, {100, 9000, 100, true}, {300, 20000, 50, true}};
    struct ggs_extents extents = {list, 3};
    assert_int_equal(ggs_extents_count(&extents, 0, 100), 1);
    assert_int_equal(ggs_extents_count(&extents, 99, 2), 2);
    assert_int_equal(ggs_extents_count(&extents, 200, 100), 0); // a hole
    assert_int_equal(ggs_extents_count(&extents, 0, 350), 3);
    assert_int_equal(ggs_extents_count(&extents, 350, 10), 0);
    assert_int_equal(ggs_extents_count(&extents, 50, 0), 0);
}

static int make_directory(void ** state) {
    (void) state;
    const char * place = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/ggscope-test-gguf-XXXXXX", place != NULL ? place : P_tmpdir);
    return mkdtemp(directory) == NULL ? -1 : 0;
}

static int remove_directory(void ** state) {
    (void) state;
    static const char * const names[] = {"empty.gguf",
                                         "pipe.gguf",
                                         "endless.gguf",
                                         "renamed.gguf",
                                         "alone.gguf",
                                         "m-00001-of-00003.gguf",
                                         "m-00002-of-00003.gguf",
                                         "m-00003-of-00003.gguf"};
    char                      path[256];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) unlink(in_directory(path, sizeof path, names[i]));
    return rmdir(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_unknown_type),
        cmocka_unit_test(test_trailing),
        cmocka_unit_test(test_bad_header),
        cmocka_unit_test(test_truncated_everywhere),
        cmocka_unit_test(test_bad_key_values),
        cmocka_unit_test(test_bad_alignment),
        cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_bad_maps),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_types_of_library),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_irregular_files),
        cmocka_unit_test(test_endless_metadata),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_extents),
    };
    return cmocka_run_group_tests_name("gguf", tests, make_directory, remove_directory);
}
