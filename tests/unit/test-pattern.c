// Unit tests of src/analyze/memory/pattern.c, last-reads.c and src/base/quantiles.c against
// programs that look at each byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/memory/pattern.h"
#include "base/error.h"

enum { FILES = 2, BYTES = 3000, READS = 400, TENSORS = 3 };

static uint32_t next_random(uint32_t * state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

struct read {
    uint64_t file, begin, length;
};

// What a byte at a time says.
struct plain {
    uint64_t  last[FILES][BYTES]; // when it was read last, from 1
    uint64_t *distances, n_distances;
    uint64_t *jumps, n_jumps;
    uint64_t  bytes, first, sequential, strict, between;
};

static int ascending(const void * a, const void * b) {
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

static uint64_t quantile(uint64_t * values, uint64_t n, unsigned percent) {
    if (n == 0) return 0;
    qsort(values, n, sizeof(*values), ascending);
    return values[(n * percent + 99) / 100 - 1];
}

static void plain_read(struct plain * plain, const struct read * read, const struct read * before, uint64_t gap) {
    if (before != NULL) {
        int64_t ahead = (int64_t) read->begin - (int64_t) (before->begin + before->length);
        bool    same  = before->file == read->file;
        plain->strict += same && ahead == 0 ? read->length : 0;
        plain->sequential += same && ahead >= 0 && ahead <= (int64_t) gap ? read->length : 0;
        if (same && (ahead < 0 || ahead > (int64_t) gap))
            plain->jumps[plain->n_jumps++] = (uint64_t) (ahead < 0 ? -ahead : ahead);
        plain->between += !same;
    }
    for (uint64_t i = 0; i < read->length; i++) {
        uint64_t * last = &plain->last[read->file - 1][read->begin + i];
        plain->bytes++;
        if (*last == 0)
            plain->first++;
        else
            plain->distances[plain->n_distances++] = plain->bytes - *last;
        *last = plain->bytes;
    }
}

// As ops read: long ranges again and again, small ones inside of others, some that follow each
// other, some behind a gap.
static struct read make_read(uint32_t * seed, const struct read * before, const struct read * ranges, int n) {
    unsigned    kind = next_random(seed) % 8;
    struct read read = ranges[next_random(seed) % (unsigned) n];
    if (kind < 2 && before != NULL) read.file = before->file, read.begin = before->begin + before->length;
    if (kind == 1) read.begin += next_random(seed) % 20;
    if (kind == 2) read.begin += next_random(seed) % read.length, read.length = 1 + next_random(seed) % 30;
    if (kind == 3) read.length = BYTES;
    if (read.begin >= BYTES) read.begin = next_random(seed) % BYTES;
    if (read.length > BYTES - read.begin) read.length = BYTES - read.begin;
    return read;
}

static void compare(const struct ggs_pattern * p, struct plain * plain) {
    uint64_t bins[GGS_PATTERN_BINS] = {0};
    assert_int_equal(p->bytes, plain->bytes);
    assert_int_equal(p->first_bytes, plain->first);
    assert_int_equal(p->sequential, plain->sequential);
    assert_int_equal(p->sequential_strict, plain->strict);
    assert_int_equal(p->jumps, plain->n_jumps + plain->between);
    assert_int_equal(p->jumps_between_files, plain->between);
    assert_int_equal(p->jump_median, quantile(plain->jumps, plain->n_jumps, 50));
    assert_int_equal(p->jump_90, quantile(plain->jumps, plain->n_jumps, 90));
    assert_int_equal(p->reuse_median, quantile(plain->distances, plain->n_distances, 50));
    assert_int_equal(p->reuse_90, quantile(plain->distances, plain->n_distances, 90));
    assert_false(p->is_rounded);
    for (uint64_t i = 0; i < plain->n_distances; i++) {
        unsigned bin = 0;
        while (plain->distances[i] >> bin != 0) bin++;
        bins[bin]++;
    }
    assert_memory_equal(p->reuse_bins, bins, sizeof(bins));
}

static void test_each_byte_has_its_reuse(void ** state) {
    (void) state;
    uint32_t         seed  = 5;
    struct ggs_trace trace = {.n_tensors = TENSORS, .n_files = FILES};
    struct plain *   plain = malloc(sizeof(*plain));
    uint64_t *       room  = malloc((READS + (uint64_t) READS * BYTES) * sizeof(*room));
    for (int round = 0; round < 60; round++) {
        struct ggs_pattern pattern;
        struct ggs_error   error;
        struct read        ranges[12], read = {0}, before;
        memset(plain, 0, sizeof(*plain));
        plain->jumps = room, plain->distances = room + READS;
        assert_int_equal(ggs_pattern_init(&pattern, &trace, &error), 0);
        pattern.gap = round % 3 == 0 ? 0 : next_random(&seed) % 16;
        for (int i = 0; i < 12; i++)
            ranges[i] = (struct read){1 + next_random(&seed) % FILES, next_random(&seed) % BYTES,
                                      1 + next_random(&seed) % (round % 2 == 0 ? 400 : 40)};
        for (unsigned i = 0, n = 1 + next_random(&seed) % READS; i < n; i++) {
            before = read;
            read   = make_read(&seed, i == 0 ? NULL : &before, ranges, 12);
            plain_read(plain, &read, i == 0 ? NULL : &before, pattern.gap);
            assert_true(ggs_pattern_read(&pattern, 1 + i % TENSORS, read.file, read.begin, read.length));
        }
        ggs_pattern_end(&pattern);
        compare(&pattern, plain);
        ggs_pattern_release(&pattern);
    }
    free(room);
    free(plain);
}

// More different ranges than fit into a chunk, in an order that splits chunks everywhere; then one
// read that takes them all.
static void test_many_ranges(void ** state) {
    (void) state;
    enum { N = 5000, STEP = 7 };
    struct ggs_trace   trace = {.n_tensors = 1, .n_files = 1};
    struct ggs_pattern pattern;
    struct ggs_error   error;
    assert_int_equal(ggs_pattern_init(&pattern, &trace, &error), 0);
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < N; i++) assert_true(ggs_pattern_read(&pattern, 1, 1, i * 1237 % N * STEP, STEP - 2));
    assert_int_equal(pattern.first_bytes, N * (STEP - 2));
    assert_int_equal(pattern.reuse_distances.weight, N * (STEP - 2));
    assert_true(ggs_pattern_read(&pattern, 1, 1, 0, N * STEP));
    assert_true(ggs_pattern_read(&pattern, 1, 1, 0, N * STEP));
    ggs_pattern_end(&pattern);
    assert_int_equal(pattern.first_bytes, N * STEP);
    uint64_t again = 0;
    for (unsigned i = 0; i < GGS_PATTERN_BINS; i++) again += pattern.reuse_bins[i];
    assert_int_equal(again, N * (STEP - 2) + N * (STEP - 2) + N * STEP);
    ggs_pattern_release(&pattern);
}

static void test_quantiles_stay_small(void ** state) {
    (void) state;
    struct ggs_quantiles quantiles = {0};
    enum { N = 3 * GGS_QUANTILES_EXACT };
    for (uint64_t i = 0; i < N; i++) assert_true(ggs_quantiles_add(&quantiles, (i * 1000003 % N) << 8, 1));
    assert_true(quantiles.is_rounded);
    for (unsigned percent = 10; percent <= 90; percent += 40) {
        uint64_t exact = ((uint64_t) N / 100 * percent + N % 100 * percent / 100) << 8;
        uint64_t got   = ggs_quantiles_at(&quantiles, percent);
        assert_true(got <= exact && exact - got <= exact / 2048 + 256);
    }
    assert_true(quantiles.capacity <= 4 * GGS_QUANTILES_EXACT);
    ggs_quantiles_release(&quantiles);
    assert_int_equal(ggs_quantiles_at(&quantiles, 50), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_byte_has_its_reuse),
        cmocka_unit_test(test_many_ranges),
        cmocka_unit_test(test_quantiles_stay_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
