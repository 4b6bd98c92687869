// Decodes by llama_process: what a program puts into the engine's batch is what the journal has of
// it.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/batches.h"
#include "capture/capture.h"
#include "capture/device/device.h"
#include "capture/existing.h"
#include "capture/graph-run.h"
#include "capture/journal.h"
#include "capture/window.h"
#include "preload/resolve.h"

// ---- the hooks ----

void *  llama_batch_ext_init(void * context);
void    llama_batch_ext_free(void * batch);
void    llama_batch_ext_clear(void * batch);
int32_t llama_batch_ext_add_token(void * batch, int32_t sequence, int32_t token);
bool    llama_batch_ext_add_seq(void * batch, int32_t index, int32_t sequence);
bool    llama_batch_ext_set_pos(void * batch, int32_t index, const int32_t * positions);
bool    llama_batch_ext_set_output_logits(void * batch, int32_t index, bool value);
int     llama_process(void * context, int type, void * batch);

// ---- an engine behind them, that keeps what it must to answer ----

enum { ROOM = 4, VOCABULARY = 100, SEQUENCES = 8, DECODE = 1 };
struct engine_batch {
    int32_t n;
};

static void * engine_init(void * context) {
    (void) context;
    return calloc(1, sizeof(struct engine_batch));
}

static void engine_free(void * batch) {
    free(batch);
}

static void engine_clear(struct engine_batch * batch) {
    batch->n = 0;
}

static int32_t engine_add(struct engine_batch * batch, int32_t sequence, int32_t token) {
    if (batch->n == ROOM) return -1;
    if (sequence < 0 || sequence >= SEQUENCES) return -3;
    int32_t index = batch->n++;
    return token < 0 || token >= VOCABULARY ? -2 : index; // the token that it refuses stays
}

static bool engine_set(const struct engine_batch * batch, int32_t index) {
    return index >= 0 && index < batch->n;
}

static int engine_process(void * context, int type, const struct engine_batch * batch) {
    (void) context, (void) type;
    assert_true(ggs_in.depth == 0);
    return batch->n == 0 ? -1 : 0;
}

void * ggs_resolve_slow(struct ggs_hook * hook, const void * caller) {
    static const struct {
        const char * name;
        void *       function;
    } known[] = {
        {"llama_batch_ext_init", (void *) engine_init},
        {"llama_batch_ext_free", (void *) engine_free},
        {"llama_batch_ext_clear", (void *) engine_clear},
        {"llama_batch_ext_add_token", (void *) engine_add},
        {"llama_batch_ext_add_seq", (void *) engine_set},
        {"llama_batch_ext_set_pos", (void *) engine_set},
        {"llama_batch_ext_set_output_logits", (void *) engine_set},
        {"llama_process", (void *) engine_process},
    };
    (void) caller;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, hook->name) == 0) return known[i].function;
    fail_msg("%s", hook->name);
    return NULL;
}

// ---- what the hooks call ----

_Thread_local void *             ggs_resolve_last;
_Thread_local const void *       ggscope_caller;
uintptr_t                        ggs_resolve_other[2];
_Thread_local struct ggs_nesting ggs_in;
int                              ggs_capture_state = GGS_CAPTURE_RECORDING;
struct ggs_capture_settings      ggs_capture;
_Atomic bool                     ggs_window_gaps;

void ggs_existing_context(void * context, const void * caller) {
    (void) context, (void) caller;
}

bool ggs_capture_wake(const void * caller) {
    (void) caller;
    return true;
}

const void * ggs_resolve_outside(const void * caller) {
    return caller;
}

void * ggs_resolve_name(const char * name, const void * caller) {
    (void) name, (void) caller;
    return NULL;
}

void ggs_device_generating(void) {}

bool ggs_window_enter(void) {
    return true;
}

void ggs_window_leave(void) {}

int ggs_journal_append(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces) {
    (void) type, (void) pieces, (void) n_pieces;
    return 0;
}

int ggs_journal_numbers(uint32_t type, uint64_t a, uint64_t b, uint64_t c, uint64_t d, const char * text) {
    (void) type, (void) a, (void) b, (void) c, (void) d, (void) text;
    return 0;
}

static uint8_t  record[4096];
static uint64_t bytes, told;

int ggs_journal_append_next(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces, uint64_t * number,
                            enum ggs_journal_counter counter) {
    static uint64_t numbers[GGS_COUNTERS];
    assert_int_equal(type, GGS_JOURNAL_DECODE);
    *number = ++numbers[counter];
    bytes   = 0;
    told++;
    for (unsigned i = 0; i < n_pieces; i++) {
        assert_true(bytes + pieces[i].bytes <= sizeof(record));
        if (pieces[i].bytes > 0) memcpy(record + bytes, pieces[i].data, pieces[i].bytes);
        bytes += pieces[i].bytes;
    }
    return 0;
}

// ---- the tests ----

static void test_what_is_put_in(void ** state) {
    (void) state;
    static const int32_t expected[] = {7, 8, 9, /* positions */ 4, 5, 0, /* sequences */ 1, 2, 1};
    void *               batch      = llama_batch_ext_init(NULL);
    int32_t              position   = 4;
    llama_batch_ext_add_token(batch, 3, 5);
    llama_batch_ext_clear(batch);
    llama_batch_ext_add_token(batch, 1, 7);
    llama_batch_ext_set_pos(batch, 0, &position);
    llama_batch_ext_add_token(batch, 2, 8);
    position = 5;
    llama_batch_ext_set_pos(batch, 1, &position);
    assert_true(llama_batch_ext_add_seq(batch, 1, 6));
    assert_true(llama_batch_ext_add_seq(batch, 1, 2)); // which it has
    assert_int_equal(llama_batch_ext_add_token(batch, -1, 50), -3);
    llama_batch_ext_add_token(batch, 1, 9);
    llama_batch_ext_set_output_logits(batch, 2, true);
    assert_false(llama_batch_ext_set_output_logits(batch, 3, true));
    told = 0;
    assert_int_equal(llama_process((void *) 0xc0, DECODE, batch), 0);
    const struct ggs_journal_decode * head = (const struct ggs_journal_decode *) record;
    assert_int_equal(told, 1);
    assert_int_equal(head->context, 0xc0);
    assert_int_equal(head->tokens, 3);
    assert_int_equal(head->encode, 0);
    assert_int_equal(head->has, 31);
    assert_int_equal(head->more, 1);
    assert_memory_equal(record + sizeof(*head), expected, sizeof(expected));
    assert_memory_equal(record + sizeof(*head) + sizeof(expected), "\0\0\1", 3);
    static const int32_t more[] = {1, 6};
    assert_memory_equal(record + sizeof(*head) + sizeof(expected) + 3, more, sizeof(more));
    assert_int_equal(bytes, sizeof(*head) + sizeof(expected) + 3 + sizeof(more));
    assert_int_equal(ggs_in.decode, 0);
    llama_batch_ext_free(batch);
}

static void test_what_was_not_seen_is_not_told(void ** state) {
    (void) state;
    void * batch = llama_batch_ext_init(NULL);
    told         = 0;
    llama_batch_ext_add_token(batch, 0, 1);
    assert_int_equal(llama_batch_ext_add_token(batch, 0, VOCABULARY), -2); // it is in there
    llama_process(NULL, DECODE, batch);
    assert_int_equal(told, 0);
    llama_batch_ext_clear(batch);
    for (int32_t i = 0; i < ROOM; i++) assert_int_equal(llama_batch_ext_add_token(batch, 0, i), i);
    assert_int_equal(llama_batch_ext_add_token(batch, 0, 9), -1); // it is full
    llama_process(NULL, DECODE, batch);
    assert_int_equal(told, 1);
    struct engine_batch unknown = {.n = 1}; // from before the recording began
    llama_process(NULL, DECODE, &unknown);
    assert_int_equal(told, 1);
    llama_batch_ext_free(batch);
    assert_null(ggs_batch_at(batch));
    assert_null(ggs_batch_at(NULL));
}

static void test_many(void ** state) {
    (void) state;
    enum { COUNT = 50 };
    void * batches[COUNT];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            batches[i] = llama_batch_ext_init(NULL);
            llama_batch_ext_add_token(batches[i], 0, i);
        }
        for (int i = 0; i < COUNT; i++) {
            const struct ggs_batch * seen = ggs_batch_at(batches[i]);
            assert_non_null(seen);
            assert_int_equal(seen->n, 1);
            assert_int_equal(seen->token[0], i);
        }
        for (int i = 0; i < COUNT; i++) llama_batch_ext_free(batches[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_put_in),
        cmocka_unit_test(test_what_was_not_seen_is_not_told),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
