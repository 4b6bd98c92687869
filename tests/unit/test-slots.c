// Slots used by many threads: a search finds the run of a node, or none, even while the slot is
// reassigned. Nodes are never dereferenced: their addresses encode run and index.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/system/ticks.h"
#include "capture/slots.h"
#include "trace-fixture.h"
#include "trace/spool-reader.h"
#include "trace/spool.h"

enum { SEARCHERS = 3, OPENERS = 2, RUNS = 600, MOST_NODES = 3000 };

// Nodes are never looked into: their addresses say which run and which index they are.
static struct abi_tensor * node_of(uint32_t run, uint32_t index) {
    return (struct abi_tensor *) (((uintptr_t) run << 20 | index) << 4);
}

static _Atomic uint32_t newest, wrong, found;
static _Atomic bool     stop;

static uint32_t count_of(uint32_t run) {
    return run % 7 == 0 ? MOST_NODES : 1 + run % 40; // so that arrays grow while they are searched
}

static void * open_and_close(void * unused) {
    (void) unused;
    struct abi_tensor ** nodes  = calloc(MOST_NODES, sizeof(*nodes));
    uint8_t *            copies = calloc(MOST_NODES + 1, 1);
    for (;;) {
        uint32_t run = atomic_fetch_add(&newest, 1) + 1;
        if (run > RUNS && found > 1000) break;
        uint32_t n = count_of(run);
        for (uint32_t i = 0; i < n; i++) nodes[i] = node_of(run, i);
        struct abi_graph          graph = {.n_nodes = (int32_t) n, .nodes = nodes};
        struct ggs_captured_graph known = {.id = 1, .n_nodes = n, .last_executed = n - 1, .copies = copies};
        struct ggs_slot *         slot  = ggs_slot_open(run, &graph, &known, NULL, 1);
        if (slot == NULL) abort();
        uint32_t index = ggs_slot_find(slot->nodes, node_of(run, n - 1), 0);
        if (index != n - 1) wrong++;
        struct ggs_spool_op * op = ggs_lane_begin_at(slot->lanes[0], run, index, ggs_ticks_now(), false);
        if (op != NULL) ggs_lane_end(op, 5, 0, 0);
        for (int i = 0; i < 2; i++) sched_yield();
        ggs_slot_close(slot);
    }
    free(nodes);
    free(copies);
    return NULL;
}

static void * search(void * unused) {
    (void) unused;
    while (!atomic_load(&stop)) {
        uint32_t run = atomic_load(&newest), last = run == 0 ? 0 : count_of(run) - 1;
        for (unsigned i = 0; i < OPENERS + 1; i++) {
            uint32_t index = UINT32_MAX, answer = ggs_slot_search(&ggs_slots[i], node_of(run, last), &index);
            if (answer == 0) continue;
            if (answer != run || index != last) wrong++;
            found++;
        }
    }
    return NULL;
}

static char * make_spool(uint64_t most_bytes) {
    char *                      folder   = scratch_make();
    struct ggs_segment_settings settings = {.most_bytes = most_bytes};
    snprintf(settings.directory, sizeof(settings.directory), "%s", folder);
    ggs_segment_configure(&settings);
    ggs_ticks_choose();
    return folder;
}

static void test_searching_while_slots_change(void ** state) {
    (void) state;
    char *    folder = make_spool(1 << 30);
    pthread_t searchers[SEARCHERS], openers[OPENERS];
    for (int i = 0; i < SEARCHERS; i++) assert_int_equal(pthread_create(&searchers[i], NULL, search, NULL), 0);
    for (int i = 0; i < OPENERS; i++) assert_int_equal(pthread_create(&openers[i], NULL, open_and_close, NULL), 0);
    for (int i = 0; i < OPENERS; i++) pthread_join(openers[i], NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < SEARCHERS; i++) pthread_join(searchers[i], NULL);
    assert_int_equal(wrong, 0);
    print_message("%u searches found their run\n", found);
    scratch_remove(folder);
}

static unsigned opened(uint32_t run) {
    struct abi_tensor *       node  = node_of(run, 0);
    uint8_t                   copy  = 0;
    struct abi_graph          graph = {.n_nodes = 1, .nodes = &node};
    struct ggs_captured_graph known = {.id = 1, .n_nodes = 1, .copies = &copy};
    struct ggs_slot *         slot  = ggs_slot_open(run, &graph, &known, NULL, 1);
    assert_non_null(slot);
    ggs_slot_close(slot);
    return ggs_slot_number(slot);
}

// A run that is late, because its thread waited for a CPU, does not follow a later one in the same
// lane.
static void test_lanes_in_order(void ** state) {
    (void) state;
    char *   folder = make_spool(1 << 30);
    unsigned first  = opened(1000006);
    assert_int_not_equal(opened(1000005), first);
    assert_int_equal(opened(1000006), first);
    assert_int_equal(opened(1000007), first);
    scratch_remove(folder);
}

// Space of segments that were sealed while the program runs becomes free, and no more.
static void test_room_that_is_freed(void ** state) {
    (void) state;
    char *             folder = make_spool(2 * GGS_SPOOL_SEGMENT);
    struct ggs_segment segment;
    uint64_t           freed = 0;
    ggs_segment_free(&freed);
    assert_int_equal(ggs_segment_create(&segment, 0, 0, 0, 0, 0), 0);
    assert_int_equal(ggs_segment_create(&segment, 0, 1, 0, 0, 0), 0);
    assert_int_equal(ggs_segment_create(&segment, 0, 2, 0, 0, 0), -1);
    assert_int_equal(errno, GGS_SEGMENT_LIMIT);
    freed = GGS_SPOOL_SEGMENT + GGS_SPOOL_SEGMENT / 2;
    assert_int_equal(ggs_segment_create(&segment, 0, 2, 0, 0, 0), 0);
    assert_int_equal(ggs_segment_create(&segment, 0, 3, 0, 0, 0), -1);
    ggs_segment_free(NULL);
    scratch_remove(folder);
}

// Segments made by ggscope are used in place: nothing in the folder is renamed or made, which would
// wait for a lock on the folder. Readers of the spool find them by their headers.
static void test_segments_that_are_ready(void ** state) {
    (void) state;
    enum { READY = 3 };
    char *             folder = make_spool(1 << 30);
    struct ggs_segment segments[READY + 1];
    for (unsigned i = 0; i < READY; i++) {
        char name[32];
        snprintf(name, sizeof(name), GGS_SPOOL_FREE ".seg", i);
        char * path = scratch_path(folder, name);
        int    fd   = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        assert_int_equal(posix_fallocate(fd, 0, GGS_SPOOL_SEGMENT), 0);
        close(fd);
        free(path);
    }
    for (unsigned i = 0; i < READY + 1; i++) {
        assert_int_equal(ggs_segment_create(&segments[i], 7, i, 1, 2, 100), 0);
        assert_int_equal(segments[i].ready, i < READY ? i + 1 : 0);
    }
    struct ggs_spool spool;
    struct ggs_error error;
    assert_int_equal(ggs_spool_open(&spool, folder, &error), 0);
    assert_int_equal(spool.n_segments, READY + 1);
    for (unsigned i = 0; i < READY + 1; i++) {
        char name[32];
        snprintf(name, sizeof(name), i < READY ? "/" GGS_SPOOL_FREE ".seg" : "/lane-007-%04u.seg", i);
        assert_int_equal(spool.segments[i].sequence, i);
        assert_non_null(strstr(spool.segments[i].path, name));
    }
    ggs_spool_release(&spool);
    scratch_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room_that_is_freed), cmocka_unit_test(test_searching_while_slots_change),
        cmocka_unit_test(test_lanes_in_order), cmocka_unit_test(test_segments_that_are_ready)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
