// GGUF files that the reader refuses, each with a sentence that says what is wrong and where.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "gguf-fixture.h"
#include "gguf/gguf-map.h"

#define TENSOR_COUNT_AT 8
#define KV_COUNT_AT     16

// The file is refused with a sentence that holds `expected`. Frees the file.
static void refused(struct ggs_text * file, int status, const char * expected) {
    struct ggs_gguf * gguf  = (struct ggs_gguf *) file;
    struct ggs_error  error = {0};
    assert_int_equal(open_made(&gguf, file, &error), status);
    assert_null(gguf);
    assert_int_equal(error.status, status);
    if (strstr(error.text, expected) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, expected);
    if (strstr(error.text, "offset") == NULL) fail_msg("\"%s\" names no offset", error.text);
    assert_int_equal(strncmp(error.text, "/proc/self/fd/", 14), 0);
    assert_null(strchr(error.text, '\n'));
    // The error is optional.
    assert_int_equal(open_made(&gguf, file, NULL), status);
    ggs_text_release(file);
}

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
    refused(&file, GGS_FORMAT, "key \"a\" occurs twice, at offset 24 and at offset 58");
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
    refused(&file, GGS_FORMAT, "the tensor name \"same\" occurs twice, at offset 24 and at offset 68");
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
    refused(&file, GGS_FORMAT, "key \"key.0\" occurs twice");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_header),     cmocka_unit_test(test_truncated_everywhere),
        cmocka_unit_test(test_bad_key_values), cmocka_unit_test(test_bad_alignment),
        cmocka_unit_test(test_bad_tensors),    cmocka_unit_test(test_bad_maps),
        cmocka_unit_test(test_many_keys),
    };
    return cmocka_run_group_tests_name("bad gguf", tests, NULL, NULL);
}
