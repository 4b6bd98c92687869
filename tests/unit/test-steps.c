// Token steps: which decode, and so which graph run, belongs to which token.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sealing-fixture.h"

static uint64_t next_decode, next_run;

static uint64_t unseen_graph; // that unseen_decode computes

static int setup(void ** state) {
    sealing_setup(state);
    fixture_process(&f);
    tiny_graph(&f, 1);
    unseen_graph = 1;
    next_decode = next_run = 1;
    return 0;
}

// A decode of n tokens (n, n + 1, ...) with one graph run.
static void decode(uint64_t context, uint32_t n, int32_t position, int32_t sequence, int output) {
    int32_t  tokens[64];
    uint64_t number = next_decode++;
    for (uint32_t i = 0; i < n; i++) tokens[i] = (int32_t) (n + i);
    fixture_decode(&f, number, context, n, tokens, position, sequence, output);
    tiny_run(&f, next_run++, 1, number, 1, 0, 0, NULL, 0);
    fixture_decode_end(&f, number, 0);
}

// A decode that nobody saw: a graph run under a scheduler, with index data.
static void unseen_tokens(uint64_t scheduler, uint32_t n, const int32_t * tokens, int32_t position) {
    uint64_t               schedule = 1000 + next_run;
    struct ggs_journal_run run      = {.run          = next_run,
                                       .graph        = unseen_graph,
                                       .schedule     = schedule,
                                       .ticks        = f.ticks,
                                       .monotonic_ns = fixture_ns(&f),
                                       .os_thread    = 5,
                                       .host         = 1};
    fixture_numbers(&f, GGS_JOURNAL_SCHEDULE, schedule, scheduler, 0, TINY_NODES, NULL);
    fixture_record(&f, GGS_JOURNAL_RUN, &run, sizeof(run), "CPU");
    fixture_numbers(&f, GGS_JOURNAL_RUN_THREADS, next_run, 1, 0, 0, NULL);
    fixture_lane(&f, 0, 0, 0);
    tiny_ops(&f, (uint32_t) next_run, 1, 0, n, tokens, position, TINY_NODES);
    fixture_run_end(&f, next_run++);
    fixture_numbers(&f, GGS_JOURNAL_SCHEDULE_END, schedule, 0, 0, 0, NULL);
    fixture_advance(&f, 1000);
}

static void unseen_decode(uint64_t scheduler, uint32_t n, int32_t position) {
    int32_t tokens[64];
    for (uint32_t i = 0; i < n; i++) tokens[i] = (int32_t) (100 * n + i);
    unseen_tokens(scheduler, n, tokens, position);
}

struct expected {
    int64_t  step;
    uint64_t phase, context, runs, tokens;
};

// A vocabulary in which 1 begins and 2 ends a text.
static bool text_ends(void * context, const char * path, int64_t * begin, int64_t * end) {
    (void) context;
    *begin = 1, *end = 2;
    return strcmp(path, "/models/some.gguf") == 0;
}

static void expect(const struct expected * expected, size_t count) {
    size_t                        n, n_runs, n_tokens;
    const struct ggs_seal_options options = {.size = sizeof(options), .text_ends = text_ends};

    struct ggs_reader * reader = seal_and_open(&f, folder, &options, NULL);
    struct ggs_step *   steps  = read_all(reader, GGS_TABLE_STEPS, sizeof(*steps), &n);
    struct ggs_run *    runs   = read_all(reader, GGS_TABLE_RUNS, sizeof(*runs), &n_runs);
    struct ggs_token *  tokens = read_all(reader, GGS_TABLE_TOKENS, sizeof(*tokens), &n_tokens);
    for (size_t i = 0; i < n && i < count; i++) {
        assert_int_equal(steps[i].step, expected[i].step);
        assert_int_equal(steps[i].phase, expected[i].phase);
        assert_int_equal(steps[i].context, expected[i].context);
        assert_int_equal(steps[i].runs, expected[i].runs);
        assert_int_equal(steps[i].tokens, expected[i].tokens);
        for (uint64_t t = 0; t < steps[i].tokens; t++) {
            assert_int_equal(tokens[steps[i].first_token + t].step, steps[i].step);
            assert_int_equal(tokens[steps[i].first_token + t].index, t);
        }
        uint64_t found = 0;
        for (size_t r = 0; r < n_runs; r++) {
            if (runs[r].run < steps[i].first_run || runs[r].run > steps[i].last_run) continue;
            if (runs[r].step == steps[i].step && runs[r].phase == steps[i].phase) found++;
        }
        assert_int_equal(found, steps[i].runs);
    }
    assert_int_equal(n, count);
    free(steps);
    free(runs);
    free(tokens);
    ggs_reader_close(reader);
}
#define EXPECT(...)                                               \
    do {                                                          \
        const struct expected expected[] = {__VA_ARGS__};         \
        expect(expected, sizeof(expected) / sizeof(expected[0])); \
    } while (0)

enum { PROMPT = GGS_PHASE_PROMPT, GENERATE = GGS_PHASE_GENERATE, MIXED = GGS_PHASE_MIXED, WARMUP = GGS_PHASE_WARMUP };

static void test_prompt_then_tokens(void ** state) {
    (void) state;
    decode(7, 5, 0, 0, 1);
    decode(7, 1, 5, 0, 1);
    decode(7, 1, 6, 0, 1);
    EXPECT({0, PROMPT, 0, 1, 5}, {1, GENERATE, 0, 1, 1}, {2, GENERATE, 0, 1, 1});
}

static void test_prompt_in_pieces(void ** state) {
    (void) state;
    decode(7, 4, 0, 0, 0);
    decode(7, 4, 4, 0, 0);
    decode(7, 1, 8, 0, 1); // a last piece of one token: no output was asked for before
    decode(7, 1, 9, 0, 1);
    EXPECT({0, PROMPT, 0, 3, 9}, {1, GENERATE, 0, 1, 1});
}

static void test_prompt_of_one_token(void ** state) {
    (void) state;
    decode(7, 1, 0, 0, 1);
    decode(7, 1, 1, 0, 1);
    EXPECT({0, PROMPT, 0, 1, 1}, {1, GENERATE, 0, 1, 1});
}

static void test_second_turn(void ** state) {
    (void) state;
    decode(7, 4, 0, 0, 1);
    decode(7, 1, 4, 0, 1);
    decode(7, 3, 5, 0, 1);
    decode(7, 1, 8, 0, 1);
    decode(7, 6, 0, 0, 1); // starts again
    EXPECT({0, PROMPT, 0, 1, 4}, {1, GENERATE, 0, 1, 1}, {2, PROMPT, 0, 1, 3}, {3, GENERATE, 0, 1, 1},
           {4, PROMPT, 0, 1, 6});
}

static void test_prompts_that_start_again(void ** state) {
    (void) state;
    decode(7, 4, 0, 0, 1);
    decode(7, 4, 0, 0, 1); // the same sequence from its start: another prompt
    decode(7, 4, 0, 1, 1); // another sequence: another prompt
    decode(7, 4, 4, 1, 1); // which goes on
    EXPECT({0, PROMPT, 0, 1, 4}, {1, PROMPT, 0, 1, 4}, {2, PROMPT, 0, 2, 8});
}

static void test_mixed_batch(void ** state) {
    (void) state;
    struct {
        struct ggs_journal_decode header;
        int32_t                   token[3], position[3], sequence[3];
        uint8_t                   output[3];
    } batch = {{.context = 7, .tokens = 3, .has = 15}, {1, 2, 3}, {4, 0, 1}, {0, 1, 1}, {1, 0, 1}};
    decode(7, 4, 0, 0, 1);
    batch.header.decode = next_decode;
    fixture_record(&f, GGS_JOURNAL_DECODE, &batch, sizeof(batch.header) + 39, NULL);
    tiny_run(&f, next_run++, 1, next_decode, 1, 0, 0, NULL, 0);
    fixture_decode_end(&f, next_decode++, 0);
    EXPECT({0, PROMPT, 0, 1, 4}, {1, MIXED, 0, 1, 3});
}

static void test_positions_that_were_not_given(void ** state) {
    (void) state;
    struct {
        struct ggs_journal_decode header;
        int32_t                   token[2], position[2], sequence[2];
        uint8_t                   output[2];
    } batch = {.header = {.context = 7, .has = 1}, .token = {8, 9}};
    for (int i = 0; i < 3; i++) {
        batch.header.decode          = next_decode;
        batch.header.tokens          = i == 0 ? 2 : 1;
        uint8_t bytes[sizeof(batch)] = {0};
        memcpy(bytes, &batch, sizeof(batch.header) + 4 * batch.header.tokens);
        fixture_record(&f, GGS_JOURNAL_DECODE, bytes, sizeof(batch.header) + 13 * batch.header.tokens, NULL);
        tiny_run(&f, next_run++, 1, next_decode, 1, 0, 0, NULL, 0);
        fixture_decode_end(&f, next_decode++, 0);
    }
    size_t              n;
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_token *  tokens = read_all(reader, GGS_TABLE_TOKENS, sizeof(*tokens), &n);
    struct ggs_step *   steps  = read_all(reader, GGS_TABLE_STEPS, sizeof(*steps), &(size_t){0});
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) assert_int_equal(tokens[i].position, i);
    for (size_t i = 0; i < n; i++) assert_int_equal(tokens[i].output, i > 0);
    assert_int_equal(steps[1].phase, GENERATE);
    assert_int_equal(steps[2].phase, GENERATE);
    free(tokens);
    free(steps);
    ggs_reader_close(reader);
}

static void test_warmup_by_flag(void ** state) {
    (void) state;
    fixture_numbers(&f, GGS_JOURNAL_CONTEXT, 7, 1, 70, 0, NULL);
    fixture_numbers(&f, GGS_JOURNAL_WARMUP, 7, 1, 0, 0, NULL);
    decode(7, 2, 0, 0, 1);
    fixture_numbers(&f, GGS_JOURNAL_CLEAR, 70, 0, 0, 0, NULL);
    fixture_numbers(&f, GGS_JOURNAL_WARMUP, 7, 0, 0, 0, NULL);
    decode(7, 4, 0, 0, 1);
    decode(7, 1, 4, 0, 1);
    EXPECT({-1, WARMUP, 0, 1, 2}, {0, PROMPT, 0, 1, 4}, {1, GENERATE, 0, 1, 1});
}

static void test_warmup_by_clearing(void ** state) {
    (void) state;
    fixture_numbers(&f, GGS_JOURNAL_CONTEXT, 7, 1, 70, 0, NULL);
    decode(7, 2, 0, 0, 1);
    fixture_numbers(&f, GGS_JOURNAL_CLEAR, 70, 0, 0, 0, NULL);
    decode(7, 4, 0, 0, 1);
    fixture_numbers(&f, GGS_JOURNAL_CLEAR, 70, 0, 0, 0, NULL); // only the first life can be a warm-up
    decode(7, 4, 0, 0, 1);
    EXPECT({-1, WARMUP, 0, 1, 2}, {0, PROMPT, 0, 1, 4}, {1, PROMPT, 0, 1, 4});
}

// As llama-idle: one token again and again, each from an empty memory.
static void test_many_probes_are_no_warmups(void ** state) {
    (void) state;
    fixture_numbers(&f, GGS_JOURNAL_CONTEXT, 7, 1, 70, 0, NULL);
    for (int i = 0; i < 10; i++) {
        decode(7, 1, 0, 0, 1);
        fixture_numbers(&f, GGS_JOURNAL_CLEAR, 70, 0, 0, 0, NULL);
    }
    EXPECT({0, PROMPT, 0, 1, 1}, {1, PROMPT, 0, 1, 1}, {2, PROMPT, 0, 1, 1}, {3, PROMPT, 0, 1, 1}, {4, PROMPT, 0, 1, 1},
           {5, PROMPT, 0, 1, 1}, {6, PROMPT, 0, 1, 1}, {7, PROMPT, 0, 1, 1}, {8, PROMPT, 0, 1, 1},
           {9, PROMPT, 0, 1, 1});
}

// A recording that began late: the context had computed before.
static void test_a_context_that_existed_has_no_warmup(void ** state) {
    (void) state;
    fixture_numbers(&f, GGS_JOURNAL_CONTEXT, 7, 1, 70, 1, NULL);
    decode(7, 1, 9, 0, 1);
    fixture_numbers(&f, GGS_JOURNAL_CLEAR, 70, 0, 0, 0, NULL);
    decode(7, 4, 0, 0, 1);
    EXPECT({0, PROMPT, 0, 1, 1}, {1, PROMPT, 0, 1, 4});
}

static void test_clearing_at_the_end_is_no_warmup(void ** state) {
    (void) state;
    fixture_numbers(&f, GGS_JOURNAL_CONTEXT, 7, 1, 70, 0, NULL);
    decode(7, 4, 0, 0, 1);
    fixture_numbers(&f, GGS_JOURNAL_CLEAR, 70, 0, 0, 0, NULL);
    EXPECT({0, PROMPT, 0, 1, 4});
}

static void test_two_contexts(void ** state) {
    (void) state;
    fixture_numbers(&f, GGS_JOURNAL_CONTEXT, 7, 1, 70, 0, NULL);
    fixture_numbers(&f, GGS_JOURNAL_CONTEXT, 8, 1, 80, 0, NULL);
    decode(7, 4, 0, 0, 1);
    decode(8, 2, 0, 0, 0);
    decode(7, 1, 4, 0, 1);
    decode(8, 2, 2, 0, 1); // its prompt goes on
    decode(8, 1, 4, 0, 1);
    EXPECT({0, PROMPT, 0, 1, 4}, {1, PROMPT, 1, 2, 4}, {2, GENERATE, 0, 1, 1}, {3, GENERATE, 1, 1, 1});
}

static void test_failed_decode(void ** state) {
    (void) state;
    static const int32_t tokens[] = {1, 2};
    decode(7, 4, 0, 0, 1);
    fixture_decode(&f, next_decode, 7, 1, tokens, 4, 0, 1);
    fixture_decode_end(&f, next_decode++, 1); // no room in the cache: nothing was computed
    decode(7, 1, 4, 0, 1);
    EXPECT({0, PROMPT, 0, 1, 4}, {1, GENERATE, 0, 1, 1});
}

static void test_interrupted_decode(void ** state) {
    (void) state;
    static const int32_t tokens[] = {1, 2};
    decode(7, 4, 0, 0, 1);
    fixture_decode(&f, next_decode, 7, 1, tokens, 4, 0, 1);
    fixture_run(&f, next_run, 1, next_decode, 1, 0);
    EXPECT({0, PROMPT, 0, 1, 4}, {1, GENERATE, 0, 1, 1});
}

static void test_steps_from_graphs_alone(void ** state) {
    (void) state;
    unseen_decode(50, 4, 0);
    unseen_decode(50, 3, 4); // a second ubatch
    unseen_decode(50, 1, 7);
    unseen_decode(60, 2, 0); // another scheduler, another context
    unseen_decode(50, 1, 8);
    unseen_decode(60, 1, 2);
    EXPECT({0, PROMPT, 0, 2, 7}, {1, GENERATE, 0, 1, 1}, {2, PROMPT, 1, 1, 2}, {3, GENERATE, 0, 1, 1},
           {4, GENERATE, 1, 1, 1});
}

// What programs compute first of all, where nothing tells that the memory is cleared afterwards.
static void test_probes_from_graphs_alone(void ** state) {
    (void) state;
    static const int32_t empty[] = {1, 2}, zeros[] = {0, 0}, text[] = {1, 7};
    fixture_record(&f, GGS_JOURNAL_FILE, NULL, 0, "/models/some.gguf");
    unseen_tokens(50, 2, empty, 0);
    unseen_tokens(50, 2, zeros, 0);
    unseen_tokens(50, 2, text, 0);
    unseen_tokens(50, 2, empty, 0); // too late to be one
    unseen_tokens(60, 2, text, 0);  // another context
    unseen_tokens(60, 2, empty, 2);
    EXPECT({-1, WARMUP, 0, 1, 2}, {-1, WARMUP, 0, 1, 2}, {0, PROMPT, 0, 1, 2}, {1, PROMPT, 0, 1, 2},
           {2, PROMPT, 1, 2, 4});
}

// Without a vocabulary the tokens of a text's ends are not known.
static void test_probes_without_vocabulary(void ** state) {
    (void) state;
    static const int32_t empty[] = {1, 2}, zeros[] = {0, 0};
    unseen_tokens(50, 2, zeros, 0);
    unseen_tokens(50, 2, empty, 0);
    EXPECT({-1, WARMUP, 0, 1, 2}, {0, PROMPT, 0, 1, 2});
}

static void test_tokens_from_graphs_alone(void ** state) {
    (void) state;
    size_t n;
    unseen_decode(50, 3, 0);
    unseen_decode(50, 1, 3);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_token *  tokens = read_all(reader, GGS_TABLE_TOKENS, sizeof(*tokens), &n);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tokens[i].position, i);
        assert_int_equal(tokens[i].token, i < 3 ? 300 + i : 100);
        assert_int_equal(tokens[i].output, i >= 2);
    }
    free(tokens);
    ggs_reader_close(reader);
}

// Inputs without names are found by what they are used for; the context that was made is the one
// that the scheduler computes for.
static void test_inputs_without_names(void ** state) {
    (void) state;
    size_t n;
    tiny_graph_unnamed(&f, 2);
    unseen_graph = 2;
    fixture_numbers(&f, GGS_JOURNAL_CONTEXT, 7, 700, 70, 0, NULL);
    unseen_decode(50, 3, 0);
    unseen_decode(50, 1, 3);
    unseen_decode(50, 1, 4);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_token *  tokens = read_all(reader, GGS_TABLE_TOKENS, sizeof(*tokens), &n);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tokens[i].position, i);
        assert_int_equal(tokens[i].output, i >= 2);
    }
    struct ggs_step * steps = read_all(reader, GGS_TABLE_STEPS, sizeof(*steps), &n);
    assert_int_equal(n, 3);
    assert_int_equal(steps[0].phase, PROMPT);
    assert_int_equal(steps[2].phase, GENERATE);
    struct ggs_context * contexts = read_all(reader, GGS_TABLE_CONTEXTS, sizeof(*contexts), &n);
    assert_int_equal(n, 1);
    assert_int_equal(contexts[0].model, 700);
    free(tokens);
    free(steps);
    free(contexts);
    ggs_reader_close(reader);
}

// An eval callback cuts a graph into runs of one node; all belong to the scheduler call that looked
// up the tokens.
static void test_runs_of_one_scheduler_call(void ** state) {
    (void) state;
    static const int32_t tokens[] = {5, 6};
    fixture_lane(&f, 0, 0, 0);
    for (uint64_t call = 1; call <= 2; call++) {
        fixture_numbers(&f, GGS_JOURNAL_SCHEDULE, call, 50, 0, TINY_NODES, NULL);
        for (int piece = 0; piece < 3; piece++) {
            struct ggs_journal_run run = {.run          = next_run,
                                          .graph        = 1,
                                          .schedule     = call,
                                          .ticks        = f.ticks,
                                          .monotonic_ns = fixture_ns(&f),
                                          .os_thread    = 5,
                                          .host         = 1};
            fixture_record(&f, GGS_JOURNAL_RUN, &run, sizeof(run), "CPU");
            fixture_numbers(&f, GGS_JOURNAL_RUN_THREADS, next_run, 1, 0, 0, NULL);
            tiny_ops(&f, (uint32_t) next_run, 1, 0, piece == 0 ? 3 - (uint32_t) call : 0, tokens, call == 1 ? 0 : 2,
                     TINY_NODES);
            fixture_run_end(&f, next_run++);
        }
        fixture_numbers(&f, GGS_JOURNAL_SCHEDULE_END, call, 0, 0, 0, NULL);
    }
    EXPECT({0, PROMPT, 0, 3, 2}, {1, GENERATE, 0, 3, 1});
}

static void test_many_steps_beside_an_idle_context(void ** state) {
    (void) state;
    decode(7, 4, 0, 0, 1);
    for (int i = 0; i < 1500; i++) decode(8, i == 0 ? 2 : 1, i == 0 ? 0 : i + 1, 0, 1);
    size_t              n;
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_step *   steps  = read_all(reader, GGS_TABLE_STEPS, sizeof(*steps), &n);
    assert_int_equal(n, 1501);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(steps[i].step, i);
        assert_int_equal(steps[i].runs, 1);
    }
    free(steps);
    ggs_reader_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, sealing_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(prompt_then_tokens),
        TEST(prompt_in_pieces),
        TEST(prompt_of_one_token),
        TEST(second_turn),
        TEST(prompts_that_start_again),
        TEST(mixed_batch),
        TEST(positions_that_were_not_given),
        TEST(warmup_by_flag),
        TEST(warmup_by_clearing),
        TEST(many_probes_are_no_warmups),
        TEST(a_context_that_existed_has_no_warmup),
        TEST(clearing_at_the_end_is_no_warmup),
        TEST(two_contexts),
        TEST(failed_decode),
        TEST(interrupted_decode),
        TEST(steps_from_graphs_alone),
        TEST(tokens_from_graphs_alone),
        TEST(inputs_without_names),
        TEST(probes_from_graphs_alone),
        TEST(probes_without_vocabulary),
        TEST(runs_of_one_scheduler_call),
        TEST(many_steps_beside_an_idle_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
