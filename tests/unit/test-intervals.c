// Unit tests of src/analyze/walk/intervals.c: against a plain array of flags.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/walk/access.h"
#include "analyze/walk/intervals.h"

enum { SPACE = 200 };

static uint32_t next_random(uint32_t * state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void compare(const struct ggs_intervals * set, const bool * flags) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < SPACE; i++) {
        bytes += flags[i];
        assert_int_equal(ggs_intervals_inside(set, i, i + 1), flags[i]);
    }
    assert_int_equal(ggs_intervals_bytes(set), bytes);
    for (uint64_t i = 1; i < set->n; i++)
        assert_true(set->data[i - 1].end < set->data[i].begin); // disjoint, and not even touching
}

static void test_against_flags(void ** state) {
    (void) state;
    uint32_t seed = 1;
    for (int round = 0; round < 300; round++) {
        struct ggs_intervals set          = {0};
        bool                 flags[SPACE] = {false};
        for (int i = 0; i < 40; i++) {
            uint64_t begin = next_random(&seed) % SPACE, end = begin + next_random(&seed) % 12;
            if (end > SPACE) end = SPACE;
            assert_true(ggs_intervals_add(&set, begin, end));
            for (uint64_t k = begin; k < end; k++) flags[k] = true;
            compare(&set, flags);
        }
        ggs_intervals_release(&set);
    }
}

static void test_many_at_once(void ** state) {
    (void) state;
    uint32_t seed = 2;
    for (int round = 0; round < 200; round++) {
        struct ggs_intervals set          = {0};
        bool                 flags[SPACE] = {false};
        for (int i = 0; i < 6; i++) {
            struct ggs_range ranges[SPACE];
            uint64_t         n = 0, base = next_random(&seed) % 3;
            // Ascending and apart, sometimes more than are added one by one.
            for (uint64_t at = next_random(&seed) % 4; base + at + 1 < SPACE && n < SPACE;) {
                uint64_t length = next_random(&seed) % 3;
                if (base + at + length > SPACE) length = SPACE - base - at;
                ranges[n++] = (struct ggs_range){at, length};
                for (uint64_t k = at; k < at + length; k++) flags[base + k] = true;
                at += length + 1 + (round % 2 == 0 ? 0 : next_random(&seed) % 20);
            }
            assert_true(ggs_intervals_add_ranges(&set, base, ranges, n));
            compare(&set, flags);
        }
        ggs_intervals_release(&set);
    }
}

static void test_bytes_inside(void ** state) {
    (void) state;
    struct ggs_intervals set = {0};
    ggs_intervals_add(&set, 10, 20);
    ggs_intervals_add(&set, 30, 40);
    assert_int_equal(ggs_intervals_inside(&set, 10, 21), 10);
    assert_int_equal(ggs_intervals_inside(&set, 15, 35), 10);
    assert_int_equal(ggs_intervals_inside(&set, 15, 15), 0);
    ggs_intervals_add(&set, 20, 30);
    assert_int_equal(ggs_intervals_inside(&set, 0, 100), 30);
    assert_int_equal(set.n, 1);
    ggs_intervals_release(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_flags),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_bytes_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
