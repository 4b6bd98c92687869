// Unit tests of wasm/zstd-decode.h: zstd itself says what is right.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "wasm/zstd-decode.h"

static uint64_t seed = 88172645463325252ull;

static uint32_t any(uint32_t below) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t) (seed % below);
}

enum { KINDS = 6 };

static uint8_t byte_of(const uint8_t * before, size_t i, unsigned kind) {
    switch (kind) {
        case 0:
            return (uint8_t) any(256); // stored as it is
        case 1:
            return (uint8_t) any(4); // Huffman
        case 2:
            return (uint8_t) (i / 7);
        case 3:
            return any(50) == 0 || i < 100 ? (uint8_t) any(256) : before[i - 1 - any(60)]; // many matches
        case 4:
            return 7; // one byte again and again
        default:
            return (uint8_t) (any(16) * any(16));
    }
}

static uint8_t * make(size_t size, unsigned kind) {
    uint8_t * data = malloc(size + 1);
    assert_non_null(data);
    for (size_t i = 0; i < size; i++) data[i] = byte_of(data, i, kind);
    return data;
}

static uint8_t * pack(const uint8_t * data, size_t size, int level, size_t * packed_size) {
    size_t    bound  = ZSTD_compressBound(size);
    uint8_t * packed = malloc(bound);
    assert_non_null(packed);
    *packed_size = ZSTD_compress(packed, bound, data, size, level);
    assert_false(ZSTD_isError(*packed_size));
    return packed;
}

static void test_what_zstd_wrote(void ** state) {
    static const int    levels[] = {-5, 1, 3, 9, 19};
    static const size_t sizes[]  = {0, 1, 2, 100, 255, 256, 5000, 65791, 65792, 300000};
    (void) state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            uint8_t *data = make(sizes[i], kind), *out = malloc(sizes[i] + 1);
            for (size_t k = 0; k < sizeof(levels) / sizeof(levels[0]); k++) {
                size_t    size;
                uint8_t * packed = pack(data, sizes[i], levels[k], &size);
                assert_true(ggs_zstd_content_size(packed, size) == sizes[i]);
                assert_true(ggs_zstd_decompress(out, sizes[i], packed, size) == sizes[i]);
                assert_memory_equal(out, data, sizes[i]);
                if (sizes[i] > 0) assert_true(ggs_zstd_decompress(out, sizes[i] - 1, packed, size) == GGS_ZSTD_FAILED);
                assert_true(ggs_zstd_decompress(out, sizes[i], packed, size - 1) == GGS_ZSTD_FAILED);
                free(packed);
            }
            free(data);
            free(out);
        }
    }
}

// Damage is either refused or read as zstd reads it, and never leads outside (the sanitizers
// watch).
static void test_damage(void ** state) {
    (void) state;
    unsigned refused = 0;
    for (unsigned round = 0; round < 300; round++) {
        size_t    size = any(6000) + 1, packed_size;
        uint8_t * data = make(size, any(KINDS)), *ours = malloc(size), *theirs = malloc(size);
        uint8_t * packed = pack(data, size, (int) any(12) + 1, &packed_size);
        for (unsigned i = 0; i < 20; i++) {
            size_t    cut     = any(5) == 0 ? any((uint32_t) packed_size) : packed_size;
            uint8_t * damaged = malloc(cut + 1);
            memcpy(damaged, packed, cut);
            for (unsigned k = any(3); cut > 0 && k < 3; k++) damaged[any((uint32_t) cut)] ^= (uint8_t) (1u << any(8));
            size_t got   = ggs_zstd_decompress(ours, size, damaged, cut),
                   right = ZSTD_decompress(theirs, size, damaged, cut);
            refused += got == GGS_ZSTD_FAILED;
            if (got != GGS_ZSTD_FAILED && !ZSTD_isError(right)) {
                assert_true(got == right);
                assert_memory_equal(ours, theirs, got);
            }
            free(damaged);
        }
        free(data);
        free(ours);
        free(theirs);
        free(packed);
    }
    assert_true(refused > 100);
}

static void test_no_frame(void ** state) {
    (void) state;
    uint8_t to[8];
    for (size_t i = 0; i < 16; i++) {
        assert_true(ggs_zstd_content_size("not a frame of zstd", i) == UINT64_MAX - 1);
        assert_true(ggs_zstd_decompress(to, sizeof(to), "not a frame of zstd", i) == GGS_ZSTD_FAILED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_zstd_wrote),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_no_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
