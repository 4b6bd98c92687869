// The rules of trace/sequences.h, and input that makes no sense. Whole programs are in tests/engine/requests.test.mjs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/sequences.h"

static struct ggs_sequences s;
static int64_t              kept_last;
static unsigned             n_settled;

static void settled(void * owner, const struct ggs_verify * verify, int64_t kept) {
    (void) owner;
    assert_true(verify->tokens > 1);
    kept_last = kept;
    n_settled++;
}

static int setup(void ** state) {
    (void) state;
    memset(&s, 0, sizeof(s));
    s.settle  = settled;
    n_settled = 0;
    kept_last = -2;
    return 0;
}

static int teardown(void ** state) {
    (void) state;
    ggs_sequences_release(&s);
    return 0;
}

// n tokens of a sequence from a position on; the last `outputs` of them have one.
static const struct ggs_sequence_part * feed(uint64_t context, int64_t sequence, int64_t position, uint64_t n,
                                             uint64_t outputs) {
    static int64_t token[64], positions[64], sequences[64];
    static uint8_t output[64];
    enum ggs_phase phase;
    assert_true(n <= 64);
    for (uint64_t i = 0; i < n; i++) {
        token[i]     = 100 + position + (int64_t) i;
        positions[i] = position + (int64_t) i;
        sequences[i] = sequence;
        output[i]    = i + outputs >= n;
    }
    struct ggs_sequence_batch batch = {
        .decode = 1, .n = n, .token = token, .position = positions, .sequence = sequences, .output = output};
    assert_true(ggs_sequences_batch(&s, context, &batch, &phase));
    assert_int_equal(s.n_parts, 1);
    assert_int_equal(s.parts[0].phase, phase);
    return &s.parts[0];
}

static void change(enum ggs_memory_change_kind kind, int64_t sequence, int64_t other, int64_t from, int64_t to,
                   int64_t delta) {
    struct ggs_memory_change change = {
        .kind = kind, .sequence = sequence, .other = other, .from = from, .to = to, .delta = delta};
    assert_true(ggs_sequences_change(&s, &change));
}

static void test_a_turn_is_a_request(void ** state) {
    (void) state;
    const struct ggs_sequence_part * part = feed(0, 0, 0, 5, 1);
    assert_int_equal(part->phase, GGS_PHASE_PROMPT);
    assert_true(part->begins && !part->again);
    assert_int_equal(part->generated, 1);
    part = feed(0, 0, 5, 1, 1);
    assert_int_equal(part->phase, GGS_PHASE_GENERATE);
    assert_int_equal(part->request, 1);
    part = feed(0, 0, 6, 4, 1);
    assert_int_equal(part->phase, GGS_PHASE_PROMPT);
    assert_int_equal(part->request, 2);
    assert_int_equal(part->cached, 6);
    assert_true(part->again && !part->unseen);
}

// Programs that ask for an output of every piece of a prompt sample from the last one only.
static void test_a_prompt_is_sampled_once(void ** state) {
    (void) state;
    assert_int_equal(feed(0, 0, 0, 5, 1)->generated, 1);
    const struct ggs_sequence_part * part = feed(0, 0, 5, 5, 1);
    assert_int_equal(part->request, 1);
    assert_int_equal(part->generated, 0);
}

static void test_drafts_are_settled_by_what_is_removed(void ** state) {
    (void) state;
    feed(0, 0, 0, 5, 1);
    assert_int_equal(feed(0, 0, 5, 4, 4)->phase, GGS_PHASE_VERIFY);
    change(GGS_MEMORY_REMOVE, 0, -1, 7, -1, 0);
    assert_int_equal(kept_last, 2);
    assert_int_equal(ggs_sequences_last(&s, 0, 0), 6);
    assert_int_equal(feed(0, 0, 7, 3, 3)->request, 1);
    change(GGS_MEMORY_REMOVE, 0, -1, 10, -1, 0); // nothing to remove: all were accepted
    assert_int_equal(kept_last, 3);
    feed(0, 0, 10, 3, 3);
    const struct ggs_sequence_part * part = feed(0, 0, 11, 1, 1); // not seen: the position tells
    assert_int_equal(kept_last, 1);
    assert_true(part->unseen);
    assert_int_equal(part->phase, GGS_PHASE_GENERATE);
    feed(0, 0, 12, 3, 3);
    ggs_sequences_finish(&s);
    assert_int_equal(kept_last, -1);
    assert_int_equal(n_settled, 4);
}

static void test_a_shift_is_no_new_request(void ** state) {
    (void) state;
    feed(0, 0, 0, 20, 1);
    change(GGS_MEMORY_REMOVE, 0, -1, 4, 10, 0);
    change(GGS_MEMORY_ADD, 0, -1, 10, 20, -6);
    assert_int_equal(ggs_sequences_last(&s, 0, 0), 13);
    const struct ggs_sequence_part * part = feed(0, 0, 14, 1, 1);
    assert_int_equal(part->phase, GGS_PHASE_GENERATE);
    assert_int_equal(part->request, 1);
    assert_int_equal(part->cells, 15);
    assert_false(part->unseen);
}

static void test_copies_count_once(void ** state) {
    (void) state;
    uint64_t cells;
    feed(0, 0, 0, 8, 0);
    change(GGS_MEMORY_COPY, 0, 1, -1, -1, 0);
    change(GGS_MEMORY_COPY, 0, 2, 0, 4, 0);
    const struct ggs_sequence_part * part = feed(0, 1, 8, 2, 1);
    assert_int_equal(part->cached, 8);
    assert_int_equal(part->cells, 10);
    assert_true(ggs_sequences_cells(s.contexts[0], &cells));
    assert_int_equal(cells, 10);
    change(GGS_MEMORY_REMOVE, 0, -1, -1, -1, 0); // the copies stay
    assert_true(ggs_sequences_cells(s.contexts[0], &cells));
    assert_int_equal(cells, 10);
    change(GGS_MEMORY_KEEP, 2, -1, -1, -1, 0);
    assert_true(ggs_sequences_cells(s.contexts[0], &cells));
    assert_int_equal(cells, 4);
    change(GGS_MEMORY_CLEAR, -1, -1, -1, -1, 0);
    assert_true(ggs_sequences_cells(s.contexts[0], &cells));
    assert_int_equal(cells, 0);
}

static void test_another_context_that_fed_the_drafts(void ** state) {
    (void) state;
    feed(0, 0, 0, 5, 1);
    feed(1, 0, 0, 5, 1);
    feed(2, 0, 0, 5, 1); // has the same text, but no drafts
    for (int i = 0; i < 3; i++) feed(1, 0, 5 + i, 1, 1);
    assert_int_equal(feed(0, 0, 5, 4, 4)->phase, GGS_PHASE_VERIFY);
    assert_int_equal(s.contexts[1]->found, 1);
    assert_int_equal(s.contexts[2]->found, 0);
}

// A trace is untrusted: any numbers, and no time or memory beyond what they deserve.
static void test_nonsense(void ** state) {
    (void) state;
    static const int64_t odd[] = {INT64_MIN, -1, 0, 1, 7, INT32_MAX, INT64_MAX - 1, INT64_MAX};
    enum { ODD = sizeof(odd) / sizeof(odd[0]) };
    unsigned seed = 1;
    for (int round = 0; round < 20000; round++) {
        int64_t n[8];
        uint8_t outputs[4] = {1, 0, 1, 1};
        for (int i = 0; i < 8; i++) n[i] = odd[(seed = seed * 1103515245 + 12345) >> 16 & (ODD - 1)];
        struct ggs_memory_change  change = {.context  = (uint64_t) n[0] % 3,
                                            .kind     = (uint64_t) round % 9,
                                            .sequence = n[1] % 5,
                                            .other    = n[2] % 5,
                                            .from     = n[3],
                                            .to       = n[4],
                                            .delta    = n[5]};
        struct ggs_sequence_batch batch  = {.decode   = 1,
                                            .n        = 4,
                                            .token    = n,
                                            .position = n + 2,
                                            .sequence = n + 4,
                                            .output   = outputs,
                                            .encode   = round % 7 == 0,
                                            .warmup   = round % 11 == 0};
        enum ggs_phase            phase;
        assert_true(ggs_sequences_change(&s, &change));
        assert_true(ggs_sequences_batch(&s, change.context, &batch, &phase));
    }
    for (int64_t i = 0; i < 20000; i++) { // more sequences than there can be
        int64_t                   zero  = 0;
        uint8_t                   no    = 0;
        struct ggs_sequence_batch batch = {.n = 1, .token = &zero, .position = &zero, .sequence = &i, .output = &no};
        enum ggs_phase            phase;
        assert_true(ggs_sequences_batch(&s, 9, &batch, &phase));
    }
    ggs_sequences_finish(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_turn_is_a_request),
        TEST(a_prompt_is_sampled_once),
        TEST(drafts_are_settled_by_what_is_removed),
        TEST(a_shift_is_no_new_request),
        TEST(copies_count_once),
        TEST(another_context_that_fed_the_drafts),
        TEST(nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
