// The rules of trace/sequences.h, and input that makes no sense. Whole programs are in
// tests/engine/requests.test.mjs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/sequences.h"

static struct ggs_sequences s;
static int64_t              kept_last; // of the newest VERIFY batch, the first token included; -1: not known
static unsigned             n_settled;
static uint64_t             accepted, rejected, late_decode;

static void settled(void * owner, const struct ggs_verify * verify, const struct ggs_settled * settled) {
    (void) owner;
    assert_true(verify->tokens + (verify->branches >= 0) > 1);
    kept_last = settled->unsettled > 0 ? -1 : settled->generated + (verify->branches < 0);
    n_settled++;
    accepted += settled->accepted, rejected += settled->rejected;
}

static bool late(void * owner, uint64_t decode) {
    (void) owner;
    late_decode = decode;
    return true;
}

static int setup(void ** state) {
    (void) state;
    memset(&s, 0, sizeof(s));
    s.settle  = settled;
    s.late    = late;
    n_settled = 0;
    accepted = rejected = late_decode = 0;
    kept_last                         = -2;
    return 0;
}

static int teardown(void ** state) {
    (void) state;
    ggs_sequences_release(&s);
    return 0;
}

// A batch that is being put together.
static struct {
    uint64_t n;
    int64_t  token[256], position[256], sequence[256];
    uint8_t  output[256], read[256];
    bool     reads_known, verify;
} next;

// n tokens of a sequence from a position on; the last `outputs` of them have one, the first `reads`
// of which are read.
static void add(int64_t sequence, int64_t position, uint64_t n, uint64_t outputs, uint64_t reads) {
    assert_true(next.n + n <= 256);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at       = next.n++;
        next.token[at]    = 100 + position + (int64_t) i;
        next.position[at] = position + (int64_t) i;
        next.sequence[at] = sequence;
        next.output[at]   = i + outputs >= n;
        next.read[at]     = !next.output[at]          ? GGS_READ_NOT_KNOWN
                            : i + outputs - n < reads ? GGS_READ_BY_PROGRAM
                                                      : GGS_READ_NEVER;
    }
}

// Returns the first part.
static const struct ggs_sequence_part * decode(uint64_t context) {
    enum ggs_phase            phase;
    struct ggs_sequence_batch batch = {.decode      = 1,
                                       .n           = next.n,
                                       .token       = next.token,
                                       .position    = next.position,
                                       .sequence    = next.sequence,
                                       .output      = next.output,
                                       .reads_known = next.reads_known,
                                       .verify      = next.verify,
                                       .read        = next.read};
    assert_true(ggs_sequences_batch(&s, context, &batch, &phase));
    assert_true(s.n_parts > 0);
    next.n           = 0;
    next.reads_known = next.verify = false;
    return &s.parts[0];
}

// Of a program whose reading is not seen.
static const struct ggs_sequence_part * feed(uint64_t context, int64_t sequence, int64_t position, uint64_t n,
                                             uint64_t outputs) {
    add(sequence, position, n, outputs, 0);
    return decode(context);
}

static const struct ggs_sequence_part * feed_read(int64_t sequence, int64_t position, uint64_t n, uint64_t outputs,
                                                  uint64_t reads) {
    add(sequence, position, n, outputs, reads);
    next.reads_known = true;
    return decode(0);
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

// ---- outputs that are read ----

static void test_an_output_that_is_not_read_ends_no_prompt(void ** state) {
    (void) state;
    feed_read(0, 0, 5, 1, 0);
    const struct ggs_sequence_part * part = feed_read(0, 5, 1, 1, 1);
    assert_int_equal(part->phase, GGS_PHASE_PROMPT);
    assert_int_equal(part->request, 1);
    assert_int_equal(part->generated, 1);
    part = feed_read(0, 6, 1, 1, 1);
    assert_int_equal(part->phase, GGS_PHASE_GENERATE);
    assert_int_equal(part->fed, 1);
    assert_int_equal(part->unused, 0);
    part = feed_read(0, 7, 1, 1, 0);
    assert_int_equal(part->phase, GGS_PHASE_GENERATE);
    assert_int_equal(part->generated, 0);
    assert_int_equal(part->unused, 1);
}

static void test_more_prompt_after_a_sampled_token_is_a_request(void ** state) {
    (void) state;
    assert_int_equal(feed_read(0, 0, 10, 1, 1)->generated, 1);
    const struct ggs_sequence_part * part = feed_read(0, 10, 4, 1, 1);
    assert_int_equal(part->phase, GGS_PHASE_PROMPT);
    assert_int_equal(part->request, 2);
    assert_int_equal(part->cached, 10);
    assert_true(part->again);
}

static void test_a_prompt_that_is_fed_one_by_one(void ** state) {
    (void) state;
    for (int i = 0; i < 6; i++) {
        const struct ggs_sequence_part * part = feed_read(0, i, 1, 1, i == 5);
        assert_int_equal(part->phase, GGS_PHASE_PROMPT);
        assert_int_equal(part->request, 1);
        assert_int_equal(part->generated, i == 5);
    }
    assert_int_equal(feed_read(0, 6, 1, 1, 1)->phase, GGS_PHASE_GENERATE);
}

// Read by the way, as sealing tells it.
static void test_an_output_that_is_read_later(void ** state) {
    (void) state;
    for (int64_t read = 0; read < 2; read++) {
        add(read, 0, 4, 1, 0);
        next.reads_known = true;
        decode(0);
        if (read) ggs_sequences_read(&s, 0, read, 3);
        assert_int_equal(feed_read(read, 4, 1, 1, 1)->phase, read ? GGS_PHASE_GENERATE : GGS_PHASE_PROMPT);
    }
}

static void test_a_benchmark_counts_what_it_feeds(void ** state) {
    (void) state;
    ggs_sequences_context(&s, 0)->never_read = true;
    assert_int_equal(feed_read(0, 0, 8, 1, 0)->generated, 0);
    for (int i = 0; i < 3; i++) assert_int_equal(feed_read(0, 8 + i, 1, 1, 0)->generated, 1);
    change(GGS_MEMORY_CLEAR, -1, -1, -1, -1, 0);
    for (int i = 0; i < 3; i++) {
        const struct ggs_sequence_part * part = feed_read(0, i, 1, 1, 0);
        assert_int_equal(part->phase, GGS_PHASE_GENERATE);
        assert_int_equal(part->generated + part->prompt, 1);
        assert_int_equal(part->unused, 1);
        assert_int_equal(part->request, 2);
    }
}

static void test_reads_tell_what_the_last_drafts_brought(void ** state) {
    (void) state;
    feed_read(0, 0, 5, 1, 1);
    assert_int_equal(feed_read(0, 5, 4, 4, 3)->phase, GGS_PHASE_VERIFY);
    ggs_sequences_finish(&s);
    assert_int_equal(kept_last, 3);
}

// ---- samplers and states ----

static void test_a_sampler_that_is_set_begins_a_request(void ** state) {
    (void) state;
    feed_read(0, 0, 10, 0, 0); // cancelled, and sent again
    change(GGS_MEMORY_SAMPLER, 0, -1, -1, -1, 0);
    const struct ggs_sequence_part * part = feed_read(0, 10, 4, 1, 1);
    assert_int_equal(part->request, 2);
    assert_int_equal(part->cached, 10);
    change(GGS_MEMORY_SAMPLER, 0, -1, -1, -1, 0);
    part = feed_read(0, 14, 1, 1, 1); // as if it generated on
    assert_int_equal(part->phase, GGS_PHASE_PROMPT);
    assert_int_equal(part->request, 3);
    change(GGS_MEMORY_SAMPLER, 1, -1, -1, -1, 0); // a second sample of the prompt
    change(GGS_MEMORY_COPY, 0, 1, -1, -1, 0);
    assert_int_equal(feed_read(1, 15, 1, 1, 1)->phase, GGS_PHASE_GENERATE);
}

// As a server does that answers a prompt twice: sampling follows the copy.
static void test_a_sample_that_ends_with_its_first_token(void ** state) {
    (void) state;
    for (int64_t i = 0; i < 3; i++) change(GGS_MEMORY_SAMPLER, i, -1, -1, -1, 0);
    add(0, 0, 6, 1, 0);
    next.reads_known = true;
    decode(0);
    for (int64_t i = 1; i < 3; i++) change(GGS_MEMORY_COPY, 0, i, -1, -1, 0);
    assert_int_equal(s.sample.request, 0);
    ggs_sequences_read(&s, 0, 0, 5);
    change(GGS_MEMORY_SAMPLER, 1, -1, -1, -1, 0);
    assert_int_equal(s.sample.request, 2);
    assert_int_equal(s.sample.sequence, 1);
    assert_int_equal(s.sample.cached, 6);
    assert_int_equal(s.sample.generated, 1);
    assert_int_equal(s.sample.computed, 1);
    change(GGS_MEMORY_REMOVE, 2, -1, -1, -1, 0);
    assert_int_equal(s.sample.request, 3);
    assert_int_equal(s.sample.cached, 6);
    change(GGS_MEMORY_SAMPLER, 2, -1, -1, -1, 0);
    assert_int_equal(s.sample.request, 0);
    change(GGS_MEMORY_SAMPLER, 0, -1, -1, -1, 0);
    assert_int_equal(s.sample.request, 0);
    assert_int_equal(feed_read(1, 6, 3, 1, 1)->request, 4);
}

static void test_a_copy_that_nothing_is_sampled_for_is_no_sample(void ** state) {
    (void) state;
    for (int64_t read = 0; read < 2; read++) { // nobody waits for one, or the output is not read
        if (!read) change(GGS_MEMORY_SAMPLER, 2, -1, -1, -1, 0);
        feed_read(read, 0, 6, 1, (uint64_t) read);
        change(GGS_MEMORY_COPY, read, 2, -1, -1, 0);
        change(GGS_MEMORY_SAMPLER, 2, -1, -1, -1, 0);
        assert_int_equal(s.sample.request, 0);
        change(GGS_MEMORY_REMOVE, 2, -1, -1, -1, 0);
        feed_read(2, 0, 1, 1, 1);
    }
}

// The prompt that is sampled from was computed while recording was paused.
static void test_a_copy_of_what_was_not_recorded_is_no_sample(void ** state) {
    (void) state;
    s.gaps = true;
    feed_read(0, 0, 6, 1, 1);
    for (int64_t i = 0; i < 2; i++) change(GGS_MEMORY_SAMPLER, i, -1, -1, -1, 0);
    change(GGS_MEMORY_REMOVE, 0, -1, 5, -1, 0);
    change(GGS_MEMORY_COPY, 0, 1, -1, -1, 0);
    change(GGS_MEMORY_REMOVE, 1, -1, -1, -1, 0);
    assert_int_equal(s.sample.request, 0);
}

// Attached to an idle server without samplers of sequences: what it removes shows where its
// requests begin.
static void test_a_request_begins_where_cells_that_were_not_recorded_were_removed(void ** state) {
    (void) state;
    s.gaps = true;
    for (int64_t i = 0; i < 4; i++) {
        uint64_t n = i % 2 == 0 ? 1 : 4;
        if (i < 2) change(GGS_MEMORY_REMOVE, i, -1, 11, -1, 0);
        const struct ggs_sequence_part * part = feed_read(i, 11, n, 1, 1);
        assert_true(part->begins);
        assert_int_equal(part->begun_before, i >= 2);
        assert_int_equal(part->phase, i == 2 ? GGS_PHASE_GENERATE : GGS_PHASE_PROMPT);
        if (i < 2) assert_int_equal(part->cached, 11);
        if (i < 2) assert_int_equal(part->cells, 11 + n);
    }
}

static void test_drafts_of_a_request_that_was_under_way(void ** state) {
    (void) state;
    s.gaps = true;
    feed(1, 0, 20, 1, 1); // drafts
    feed(1, 0, 21, 1, 1);
    const struct ggs_sequence_part * part = feed(0, 0, 20, 3, 3);
    assert_int_equal(part->phase, GGS_PHASE_VERIFY);
    assert_true(part->begins && part->begun_before);
    assert_int_equal(s.contexts[1]->number, 0);
    assert_int_equal(s.contexts[0]->found, 1);
    change(GGS_MEMORY_REMOVE, 0, -1, 22, -1, 0);
    assert_int_equal(kept_last, 2);
    part = feed(0, 0, 22, 3, 3);
    assert_int_equal(part->phase, GGS_PHASE_VERIFY);
    assert_int_equal(part->request, 2);
    feed(0, 1, 300, 200, 200); // scored
    assert_int_equal(s.parts[0].phase, GGS_PHASE_PROMPT);
}

// Recording was paused: a request began meanwhile, and generates.
static void test_a_request_that_began_during_a_pause(void ** state) {
    (void) state;
    s.gaps = true;
    feed_read(0, 0, 6, 1, 1);
    change(GGS_MEMORY_SAMPLER, 0, -1, -1, -1, 0);
    change(GGS_MEMORY_REMOVE, 0, -1, 3, -1, 0);
    const struct ggs_sequence_part * part = feed_read(0, 20, 1, 1, 1);
    assert_int_equal(part->phase, GGS_PHASE_GENERATE);
    assert_int_equal(part->request, 2);
    assert_true(part->begun_before);
    change(GGS_MEMORY_SAMPLER, 0, -1, -1, -1, 0);
    change(GGS_MEMORY_REMOVE, 0, -1, 20, -1, 0);
    part = feed_read(0, 20, 1, 1, 1);
    assert_int_equal(part->phase, GGS_PHASE_PROMPT);
    assert_int_equal(part->request, 3);
    assert_false(part->begun_before);
    assert_int_equal(part->cached, 20);
    for (int64_t at = 25; at < 40; at += 5) { // it begins, and checks drafts
        if (at == 25) change(GGS_MEMORY_SAMPLER, 0, -1, -1, -1, 0);
        change(GGS_MEMORY_REMOVE, 0, -1, at, -1, 0);
    }
    part = feed_read(0, 35, 3, 3, 2);
    assert_int_equal(part->phase, GGS_PHASE_VERIFY);
    assert_int_equal(part->request, 4);
    assert_true(part->begun_before);
    for (int64_t at = 45; at < 60; at += 5) change(GGS_MEMORY_REMOVE, 0, -1, at, -1, 0);
    part = feed_read(0, 55, 3, 3, 2);
    assert_true(part->paused);
    assert_int_equal(part->phase, GGS_PHASE_VERIFY);
    assert_int_equal(part->request, 4);
}

static void test_a_state_that_is_loaded(void ** state) {
    (void) state;
    feed_read(0, 0, 10, 1, 1);
    change(GGS_MEMORY_LOAD, 0, -1, 0, 30, 0);
    assert_int_equal(ggs_sequences_last(&s, 0, 0), 29);
    const struct ggs_sequence_part * part = feed_read(0, 30, 1, 1, 1);
    assert_int_equal(part->phase, GGS_PHASE_PROMPT);
    assert_int_equal(part->request, 2);
    assert_int_equal(part->cached, 30);
    assert_int_equal(part->cells, 31);
    change(GGS_MEMORY_LOAD, 0, -1, -1, -1, 0); // nobody knows what
    assert_int_equal(feed_read(0, 50, 2, 1, 1)->cached, 50);
}

// ---- drafts with the end of a prompt ----

static void test_drafts_behind_the_last_token_of_a_prompt(void ** state) {
    (void) state;
    for (int64_t pass = 0; pass < 2; pass++) {
        feed_read(pass, 0, 5, 0, 0);
        add(pass, 5, 4, 4, 2);
        next.reads_known                      = true;
        next.verify                           = pass == 1;
        const struct ggs_sequence_part * part = decode(0);
        assert_int_equal(part->phase, pass == 0 ? GGS_PHASE_PROMPT : GGS_PHASE_VERIFY);
        if (pass == 1) {
            assert_int_equal(part->prompt, 1);
            assert_int_equal(part->generated, 1);
            assert_int_equal(part->fed, 0);
        }
        change(GGS_MEMORY_REMOVE, pass, -1, 7, -1, 0);
        assert_int_equal(kept_last, 2);
        assert_int_equal(late_decode, 1);
        assert_int_equal(feed_read(pass, 7, 3, 3, 1)->phase, GGS_PHASE_VERIFY);
        assert_int_equal(s.parts[0].request, pass + 1);
    }
}

static void test_a_prompt_that_is_scored_checks_no_drafts(void ** state) {
    (void) state;
    feed_read(0, 0, 5, 0, 0);
    feed_read(0, 5, 4, 4, 4);
    change(GGS_MEMORY_REMOVE, 0, -1, 7, -1, 0);
    assert_int_equal(late_decode, 0);
    assert_int_equal(feed_read(0, 7, 2, 1, 1)->request, 2);
}

// ---- branches ----

// Sequences 1 and 2 are copies of sequence 0, and go on behind its token.
static void feed_branches(int64_t position) {
    add(0, position, 1, 1, 1);
    add(1, position + 1, 3, 3, 0);
    add(2, position + 2, 2, 2, 0); // behind the first token of sequence 1, which is its own too
    next.reads_known = true;
    decode(0);
    assert_int_equal(s.n_parts, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(s.parts[i].request, 1);
        assert_int_equal(s.parts[i].branch, i > 0);
        assert_int_equal(s.parts[i].phase, i == 0 ? GGS_PHASE_GENERATE : GGS_PHASE_VERIFY);
        assert_int_equal(s.parts[i].generated, i == 0);
    }
    for (int64_t other = 1; other < 3; other++) change(GGS_MEMORY_COPY, 0, other, position, position + 1, 0);
    change(GGS_MEMORY_COPY, 1, 2, position + 1, position + 2, 0);
}

static void test_branches_are_drafts_of_one_request(void ** state) {
    (void) state;
    feed_read(0, 0, 5, 1, 1);
    for (int64_t other = 1; other < 3; other++) change(GGS_MEMORY_COPY, 0, other, -1, -1, 0);
    feed_branches(5);
    change(GGS_MEMORY_REMOVE, -1, -1, 6, -1, 0); // none was accepted
    assert_int_equal(accepted, 0);
    assert_int_equal(rejected, 5);
    feed_branches(6);
    change(GGS_MEMORY_REMOVE, -1, -1, 9, -1, 0); // two of sequence 1's are
    change(GGS_MEMORY_KEEP, 1, -1, -1, -1, 0);
    change(GGS_MEMORY_COPY, 1, 0, -1, -1, 0);
    change(GGS_MEMORY_REMOVE, 1, -1, -1, -1, 0);
    assert_int_equal(accepted, 2);
    assert_int_equal(rejected, 5 + 1 + 2);
    const struct ggs_sequence_part * part = feed_read(0, 9, 1, 1, 1);
    assert_int_equal(part->phase, GGS_PHASE_GENERATE);
    assert_int_equal(part->request, 1);
}

// Sequences that share nothing are requests of their own, wherever their positions lie.
static void test_neighbours_are_no_branches(void ** state) {
    (void) state;
    feed_read(0, 0, 5, 1, 1);
    change(GGS_MEMORY_LOAD, 1, -1, 0, 3, 0);
    add(0, 5, 1, 1, 1);
    add(1, 6, 2, 1, 1);
    next.reads_known = true;
    decode(0);
    assert_int_equal(s.parts[1].request, 2);
    assert_false(s.parts[1].branch);
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
                                            .kind     = (uint64_t) round % (GGS_MEMORY_COUNT + 2),
                                            .sequence = n[1] % 5,
                                            .other    = n[2] % 5,
                                            .from     = n[3],
                                            .to       = n[4],
                                            .delta    = n[5]};
        struct ggs_sequence_batch batch  = {.decode      = 1,
                                            .n           = 4,
                                            .token       = n,
                                            .position    = n + 2,
                                            .sequence    = n + 4,
                                            .output      = outputs,
                                            .read        = round % 3 == 0 ? outputs : NULL,
                                            .reads_known = round % 2 == 0,
                                            .verify      = round % 5 == 0,
                                            .encode      = round % 7 == 0,
                                            .warmup      = round % 11 == 0};
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
        TEST(an_output_that_is_not_read_ends_no_prompt),
        TEST(more_prompt_after_a_sampled_token_is_a_request),
        TEST(a_prompt_that_is_fed_one_by_one),
        TEST(an_output_that_is_read_later),
        TEST(a_benchmark_counts_what_it_feeds),
        TEST(reads_tell_what_the_last_drafts_brought),
        TEST(a_sampler_that_is_set_begins_a_request),
        TEST(a_sample_that_ends_with_its_first_token),
        TEST(a_copy_that_nothing_is_sampled_for_is_no_sample),
        TEST(a_copy_of_what_was_not_recorded_is_no_sample),
        TEST(a_request_begins_where_cells_that_were_not_recorded_were_removed),
        TEST(drafts_of_a_request_that_was_under_way),
        TEST(a_request_that_began_during_a_pause),
        TEST(a_state_that_is_loaded),
        TEST(drafts_behind_the_last_token_of_a_prompt),
        TEST(a_prompt_that_is_scored_checks_no_drafts),
        TEST(branches_are_drafts_of_one_request),
        TEST(neighbours_are_no_branches),
        TEST(nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
