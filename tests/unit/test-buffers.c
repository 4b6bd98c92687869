// The engine's buffers and their ids: objects come and go at the same addresses, from several
// threads.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "capture/memory/buffers.h"

enum { BUFFERS = 10000, THREADS = 4, ROUNDS = 2000 };
static char object[BUFFERS];

static void test_ids(void ** state) {
    (void) state;
    assert_int_equal(ggs_buffer_id(&object[0]), 0);
    assert_int_equal(ggs_buffer_id(NULL), 0);
    for (uint64_t i = 0; i < BUFFERS; i++) ggs_buffer_add(&object[i], i + 1, 4096 * (i + 1), i % 2 * 4096);
    for (uint64_t i = 0; i < BUFFERS; i++) assert_int_equal(ggs_buffer_id(&object[i]), i + 1);
    assert_true(ggs_buffer_holds(4096 * 2));
    assert_true(ggs_buffer_holds(4096 * 3 - 1));
    assert_false(ggs_buffer_holds(4096 * 3)); // of a device: no memory of ours
    assert_false(ggs_buffer_holds(4096 * (BUFFERS + 1)));
    ggs_buffer_add(&object[1], BUFFERS + 1, 1, 1); // its end was not seen
    assert_int_equal(ggs_buffer_id(&object[1]), BUFFERS + 1);
    assert_false(ggs_buffer_holds(4096 * 2));
    for (uint64_t i = 0; i < BUFFERS; i += 2) assert_int_equal(ggs_buffer_remove(&object[i]), i + 1);
    for (uint64_t i = 0; i < BUFFERS; i += 2) assert_int_equal(ggs_buffer_id(&object[i]), 0);
    for (uint64_t i = 3; i < BUFFERS; i += 2) assert_int_equal(ggs_buffer_id(&object[i]), i + 1);
    assert_int_equal(ggs_buffer_remove(&object[0]), 0);
    for (uint64_t i = 1; i < BUFFERS; i += 2) assert_int_not_equal(ggs_buffer_remove(&object[i]), 0);
    assert_false(ggs_buffer_holds(4096 * 4));
}

static void * use(void * number) {
    uintptr_t first = (uintptr_t) number * 8, wrong = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (uintptr_t i = first; i < first + 8; i++) ggs_buffer_add(&object[i], i + 1, 4096 * (i + 1), 4096);
        for (uintptr_t i = first; i < first + 8; i++) wrong += ggs_buffer_id(&object[i]) != i + 1;
        wrong += !ggs_buffer_holds(4096 * (first + 1));
        for (uintptr_t i = first; i < first + 8; i++) wrong += ggs_buffer_remove(&object[i]) != i + 1;
    }
    return (void *) wrong;
}

static void test_threads(void ** state) {
    (void) state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, use, (void *) i), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void * wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ids), cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
