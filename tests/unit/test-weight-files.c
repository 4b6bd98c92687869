// Weights that sealing reads in files: conversions equal those of the engine's library bit by bit,
// and the sums equal those of the same elements in memory.
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/values/block-floats.h"
#include "trace/values/row-summary.h"
#include "trace/values/weight-file.h"

enum { MOST_TYPES = 64, Q6_K = 14, Q4_0 = 2, F32 = 0 };

// The beginning of the engine's struct.
struct type_traits {
    const char * name;
    int64_t      block_size, interleaved;
    size_t       type_size;
    _Bool        quantized;
    void (*to_float)(const void * from, float * to, int64_t n);
};

static void fill(uint8_t * bytes, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed     = seed * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t) (seed >> 56);
    }
}

// Blocks have any bits: scales that are infinite, NaN, negative or subnormal are among them.
static void test_conversions(void ** state) {
    enum { BLOCKS = 2048 };
    (void) state;
    void * library                               = dlopen(GGSCOPE_ENGINE_LIBRARY_DIR "/libggml-base.so", RTLD_NOW);
    const struct type_traits * (*traits_of)(int) = NULL;
    if (library != NULL) *(void **) &traits_of = dlsym(library, "ggml_get_type_traits");
    if (traits_of == NULL) {
        print_message("skipped: no engine's library to compare with: %s\n", dlerror());
        skip();
    }
    int compared = 0;
    for (int type = 0; type < MOST_TYPES; type++) {
        const struct ggs_block_type * ours = ggs_block_type(type);
        if (ours == NULL || type == F32) continue;
        const struct type_traits * engine = traits_of(type);
        assert_int_equal(engine->block_size, ours->block);
        assert_int_equal(engine->type_size, ours->bytes);
        size_t    n      = (size_t) BLOCKS * ours->block;
        uint8_t * blocks = malloc((size_t) BLOCKS * ours->bytes);
        float *   a      = malloc(n * sizeof(*a));
        float *   b      = malloc(n * sizeof(*b));
        assert_true(blocks != NULL && a != NULL && b != NULL);
        fill(blocks, (size_t) BLOCKS * ours->bytes, (uint64_t) type);
        engine->to_float(blocks, a, (int64_t) n);
        ours->to_float(blocks, b, (int64_t) n);
        if (!ggs_floats_alike(a, b, n)) fail_msg("%s is converted otherwise", engine->name);
        free(blocks), free(a), free(b);
        compared++;
    }
    assert_true(compared >= 15);
    dlclose(library);
}

// ---- files ----

struct file {
    char      path[64];
    uint8_t * bytes;
    size_t    n;
    struct {
        struct ggs_spool_weight_file place;
        char                         path[64];
    } payload;
    struct ggs_spool_weight unit;
};

static void describe(struct file * file) {
    struct stat info;
    assert_int_equal(stat(file->path, &info), 0);
    file->payload.place.device   = info.st_dev;
    file->payload.place.inode    = info.st_ino;
    file->payload.place.size     = (uint64_t) info.st_size;
    file->payload.place.mtime_ns = info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec;
}

// A file with a weight of `rows` rows in the middle.
static void make(struct file * file, int type, uint64_t elements, uint32_t rows) {
    enum { BEFORE = 160, BEHIND = 64 };
    const struct ggs_block_type * known = ggs_block_type(type);
    memset(file, 0, sizeof(*file));
    file->n     = BEFORE + elements / known->block * known->bytes * rows + BEHIND;
    file->bytes = malloc(file->n);
    assert_non_null(file->bytes);
    fill(file->bytes, file->n, 7);
    snprintf(file->path, sizeof(file->path), "/tmp/ggscope-weight-XXXXXX");
    int fd = mkstemp(file->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file->bytes, file->n), (ssize_t) file->n);
    close(fd);
    describe(file);
    file->payload.place.offset = BEFORE;
    memcpy(file->payload.path, file->path, sizeof(file->path));
    file->unit = (struct ggs_spool_weight){
        .type = GGS_UNIT_WEIGHT, .source = 1, .elements = elements, .rows = rows, .format = type};
    file->unit.bytes = (uint32_t) (sizeof(file->payload.place) + strlen(file->path) + 1);
}

static void release(struct file * file) {
    unlink(file->path);
    free(file->bytes);
}

static bool reads(const struct file * file) {
    struct ggs_spool_value rows[8];
    assert_true(file->unit.rows <= 8);
    return ggs_weight_file_read(&file->unit, &file->payload, rows);
}

// A row, piece by piece in one thread.
static struct ggs_spool_value sum(const uint8_t * bytes, const struct ggs_block_type * type, uint64_t n,
                                  uint32_t token) {
    struct ggs_values_sum  all, next;
    struct ggs_spool_value out;
    float                  piece[GGS_VALUES_PIECE];
    for (uint64_t at = 0; at < n; at += GGS_VALUES_PIECE) {
        uint32_t size = n - at < GGS_VALUES_PIECE ? (uint32_t) (n - at) : GGS_VALUES_PIECE;
        type->to_float(bytes + at / type->block * type->bytes, piece, size);
        ggs_values_sum(&next, piece, size, at);
        if (at == 0)
            all = next;
        else
            ggs_values_join(&all, &next);
    }
    ggs_values_finish(&all, token, &out);
    return out;
}

static void test_sums(void ** state) {
    static const struct {
        int      type;
        uint64_t elements;
        uint32_t rows;
    } weights[] = {
        {Q6_K, 256, 1}, {Q6_K, 4096 * 200 + 512, 1}, {Q4_0, 4096 * 70 + 32, 3}, {F32, 5000, 8}, {F32, 77, 1}};
    (void) state;
    ggs_values_kernel_init(false);
    for (unsigned i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
        const struct ggs_block_type * type = ggs_block_type(weights[i].type);
        struct ggs_spool_value        rows[8], expected;
        struct file                   file;
        make(&file, weights[i].type, weights[i].elements, weights[i].rows);
        assert_true(ggs_weight_file_read(&file.unit, &file.payload, rows));
        for (uint32_t row = 0; row < weights[i].rows; row++) {
            uint64_t bytes = weights[i].elements / type->block * type->bytes;
            expected       = sum(file.bytes + file.payload.place.offset + row * bytes, type, weights[i].elements,
                           weights[i].rows > 1 ? row : GGS_VALUE_NO_TOKEN);
            assert_memory_equal(&rows[row], &expected, sizeof(expected));
        }
        release(&file);
    }
}

static void test_other_files(void ** state) {
    struct file           file;
    const struct timespec times[2] = {{1, 0}, {1, 5}};
    (void) state;
    make(&file, Q4_0, 320, 2);
    assert_true(reads(&file));
    assert_int_equal(utimensat(AT_FDCWD, file.path, times, 0), 0); // written to
    assert_false(reads(&file));
    describe(&file);
    assert_true(reads(&file));
    file.payload.place.inode++; // replaced
    assert_false(reads(&file));
    describe(&file);
    assert_int_equal(truncate(file.path, 170), 0); // ends within the weight
    assert_false(reads(&file));
    describe(&file);
    assert_false(reads(&file));
    unlink(file.path);
    assert_false(reads(&file));
    mkfifo(file.path, 0600); // opening it does not wait for a writer
    assert_false(reads(&file));
    release(&file);
}

static void test_damaged_units(void ** state) {
    struct file file;
    (void) state;
    make(&file, Q4_0, 320, 2);
    const struct ggs_spool_weight good = file.unit;
    file.unit.format                   = 4; // a removed type
    assert_false(reads(&file));
    file.unit.format = -1;
    assert_false(reads(&file));
    file.unit          = good;
    file.unit.elements = 321; // half a block
    assert_false(reads(&file));
    file.unit.elements = UINT64_MAX / 2;
    assert_false(reads(&file));
    file.unit       = good;
    file.unit.bytes = sizeof(file.payload.place); // no path
    assert_false(reads(&file));
    file.unit.bytes = good.bytes - 1; // not terminated
    assert_false(reads(&file));
    file.unit                 = good;
    file.payload.place.offset = UINT64_MAX - 10;
    assert_false(reads(&file));
    release(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_damaged_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
