// The GGUF reader on good files made by hand, in memory and on disk.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "gguf-fixture.h"
#include "gguf/extents.h"
#include "gguf/gguf-entry.h"
#include "gguf/gguf-map.h"
#include "gguf/gguf-split.h"
#include "gguf/gguf-type.h"

// ---- good files ----

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
    // b ends at 32 and a begins at 64: 32 bytes belong to nothing, although all offsets are
    // aligned.
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
    // Without the last padding the file is as good: llama.cpp reads no further than the last
    // tensor.
    file.length -= 5 + 12;
    gguf = opened(&file);
    assert_int_equal(ggs_gguf_map_init(&map, gguf, NULL), 0);
    assert_int_equal(map.regions[map.n_regions - 1].kind, GGS_REGION_TENSOR);
    ggs_gguf_map_release(&map);
    ggs_gguf_free(gguf);
    ggs_text_release(&file);
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

// ---- files on disk ----

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
    model_refused("renamed.gguf", GGS_FORMAT, "restore its name");
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
        cmocka_unit_test(test_small),           cmocka_unit_test(test_version_2),        cmocka_unit_test(test_values),
        cmocka_unit_test(test_unknown_type),    cmocka_unit_test(test_trailing),         cmocka_unit_test(test_experts),
        cmocka_unit_test(test_irregular_files), cmocka_unit_test(test_endless_metadata), cmocka_unit_test(test_split),
        cmocka_unit_test(test_extents),
    };
    return cmocka_run_group_tests_name("gguf", tests, make_directory, remove_directory);
}
