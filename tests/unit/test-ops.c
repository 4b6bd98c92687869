// Op runs as the capture library writes them and as the spool's reader gives them back: an op's
// unit says only what does not follow from the one before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/system/ticks.h"
#include "capture/cpu/ops.h"
#include "trace-fixture.h"
#include "trace/spool-reader.h"

enum { NODES = 600, LAST = NODES - 3 }; // nodes that are not computed end the graph

static struct abi_tensor               tensors[NODES];
static struct abi_tensor *             nodes[NODES];
static uint8_t                         copies[NODES + 1];
static struct abi_graph                graph  = {.n_nodes = NODES, .nodes = nodes};
static const struct ggs_captured_graph known  = {.id = 1, .n_nodes = NODES, .last_executed = LAST, .copies = copies};
static struct abi_params               params = {.ith = 0, .nth = 1};
static char *                          folder;

static int setup(void ** state) {
    (void) state;
    struct ggs_segment_settings settings = {.most_bytes = 1 << 30};
    folder                               = scratch_make();
    snprintf(settings.directory, sizeof(settings.directory), "%s", folder);
    ggs_segment_configure(&settings);
    ggs_ticks_choose();
    for (int i = 0; i < NODES; i++) nodes[i] = &tensors[i];
    return 0;
}

static int teardown(void ** state) {
    (void) state;
    scratch_remove(folder);
    return 0;
}

static struct ggs_slot * open_run(uint32_t run) {
    struct ggs_slot * slot = ggs_slot_open(run, &graph, &known, NULL, 1);
    assert_non_null(slot);
    ggs_op_set_opened(slot);
    return slot;
}

static void close_run(struct ggs_slot * slot) {
    ggs_op_set_opened(NULL);
    assert_int_equal(ggs_slot_close(slot), 0);
}

// What is expected of the lane.
static struct ggs_unit expected[32];
static size_t          n_expected;

// Begins an op; returns when it began.
static uint64_t begin(uint32_t run, uint32_t node, bool fused) {
    if (!ggs_op_begin_next(&params, nodes[node], fused)) ggs_op_begin_anew(&params, nodes[node], fused);
    expected[n_expected++] = (struct ggs_unit){
        .type = GGS_UNIT_OP, .flags = fused ? GGS_OP_RUN_FUSED : 0, .run = run, .node = node, .begin = ggs_op_self.at};
    return ggs_op_self.at;
}

static void ends(uint64_t duration, uint64_t wait, uint64_t inner_wait) {
    struct ggs_unit * op = &expected[n_expected - 1];
    op->duration = duration, op->wait = wait, op->inner_wait = inner_wait;
    op->flags |= GGS_OP_RUN_ENDED;
}

static void compare(const struct ggs_unit * unit, const struct ggs_unit * op) {
    assert_non_null(unit);
    assert_int_equal(unit->type, op->type);
    assert_int_equal(unit->run, op->run);
    assert_int_equal(unit->node, op->node);
    assert_int_equal(unit->flags, op->flags);
    assert_int_equal(unit->begin, op->begin);
    assert_int_equal(unit->duration, op->duration);
    assert_int_equal(unit->wait, op->wait);
    assert_int_equal(unit->inner_wait, op->inner_wait);
}

static void write_first_run(void) {
    struct ggs_slot * slot = open_run(1);
    uint64_t          at   = begin(1, 0, false);
    ggs_op_barrier(at + 100, at + 130, ggs_op_self.unusual);
    ends(100, 30, 0);
    assert_int_equal(begin(1, 2, true), at + 130); // where the wait ended
    at += 130;
    ggs_op_barrier(at + 50, at + 60, ggs_op_self.unusual);
    ggs_op_barrier(at + 200, at + 220, ggs_op_self.unusual);
    ends(200, 20, 10);
    assert_int_equal(begin(1, 300, false), at + 220); // too far for a step
    at += 220;
    ggs_op_barrier(at + 10, at + 15, ggs_op_self.unusual);
    ends(10, 5, 0);
    at = begin(1, 301, false); // too long for 32 bits, also in two parts
    ggs_op_barrier(at + (5ull << 32) + 15, at + (5ull << 32) + 31, ggs_op_self.unusual);
    ends((5ull << 32) + 8, 16, 0);
    at = begin(1, 305, false);
    ggs_op_barrier(at + (3ull << 30), at + (3ull << 30) + 7, ggs_op_self.unusual);
    ggs_op_barrier(at + (3ull << 31), at + (3ull << 31) + 64, ggs_op_self.unusual);
    ends(3ull << 31, 64, 6);
    at = begin(1, 306, false); // said to be done, and then a barrier
    ggs_op_barrier(at + 5, at + 7, ggs_op_self.unusual);
    ggs_op_ended();
    ggs_op_barrier(at + 30, at + 31, ggs_op_self.unusual);
    ends(30, 1, 2);
    begin(1, 307, false); // and no barrier
    ggs_op_ended();
    ends(ggs_op_self.op->duration, 0, 0);
    expected[n_expected - 1].flags |= GGS_OP_RUN_WAIT_UNSEEN;
    at = begin(1, 308, false);
    ggs_op_barrier(at + 3, at + 4, ggs_op_self.unusual);
    ends(3, 1, 0);
    begin(1, 310, false); // no barrier, and none said that it is done
    at = begin(1, 311, false);
    assert_true(at > expected[n_expected - 2].begin);
    ggs_op_barrier(at + 3, at + 4, ggs_op_self.unusual);
    ends(3, 1, 0);
    ggs_op_clear(); // one in between that is not recorded
    at = begin(1, 313, false);
    ggs_op_barrier(at + 4, at + 5, ggs_op_self.unusual);
    ends(4, 1, 0);
    assert_int_equal(begin(1, LAST, false), at + 5);
    at += 5;
    ggs_op_barrier(at + 10, at + 20, ggs_op_self.unusual);
    ggs_op_barrier(at + 100, at + 110, ggs_op_self.unusual);
    ggs_op_barrier(at + 150, at + 160, ggs_op_self.unusual); // the second of two
    ends(100, 10, 10);
    close_run(slot);
}

static void test_ops(void ** state) {
    (void) state;
    n_expected = 0;
    write_first_run();
    struct ggs_slot * slot = open_run(2);
    uint64_t          at   = begin(2, 7, false);
    ggs_op_barrier(at + 1, at + 3, ggs_op_self.unusual);
    ends(1, 2, 0);
    begin(2, 8, false); // the process ends in it
    struct ggs_spool        spool;
    struct ggs_error        error;
    const struct ggs_unit * unit;
    uint64_t                positions[32];
    assert_int_equal(ggs_spool_open(&spool, folder, &error), 0);
    assert_int_equal(spool.n_lanes, 1);
    struct ggs_spool_stream * lane = &spool.lanes[0];
    unit                           = ggs_spool_stream_unit(lane);
    assert_int_equal(unit->type, GGS_UNIT_THREAD);
    assert_int_not_equal(unit->node, 0);
    for (size_t i = 0; i < n_expected; i++) {
        uint32_t sequence;
        ggs_spool_stream_skip(lane);
        positions[i] = ggs_spool_stream_tell(lane, &sequence);
        compare(ggs_spool_stream_unit(lane), &expected[i]);
    }
    // The op under way ends after it was read, and another one begins.
    ggs_spool_stream_skip(lane);
    assert_null(ggs_spool_stream_unit(lane));
    ggs_op_barrier(ggs_op_self.at + 40, ggs_op_self.at + 44, ggs_op_self.unusual);
    ends(40, 4, 0);
    begin(2, 9, false);
    compare(ggs_spool_stream_unit(lane), &expected[n_expected - 1]);
    assert_int_equal(expected[n_expected - 1].begin, expected[n_expected - 2].begin + 44);
    // From anywhere
    for (size_t i = n_expected - 1; i-- > 0;) {
        ggs_spool_stream_seek(lane, 0, positions[i]);
        compare(ggs_spool_stream_unit(lane), &expected[i]);
    }
    assert_int_equal(lane->damaged, 0);
    ggs_spool_release(&spool);
    close_run(slot);
}

// An op that hangs on nothing, because what says where it stands is damaged: nothing is read from
// there on.
static void test_op_without_place(void ** state) {
    (void) state;
    struct ggs_slot *       slot = open_run(3);
    struct ggs_spool_at *   at   = (void *) (slot->lanes[0]->segment.data + sizeof(struct ggs_spool_header));
    struct ggs_spool        spool;
    struct ggs_error        error;
    const struct ggs_unit * unit;
    assert_int_equal(at[1].type, GGS_UNIT_AT);
    at[1].type = GGS_UNIT_THREAD;
    assert_int_equal(ggs_spool_open(&spool, folder, &error), 0);
    for (; (unit = ggs_spool_stream_unit(&spool.lanes[0])) != NULL; ggs_spool_stream_skip(&spool.lanes[0]))
        assert_int_equal(unit->type, GGS_UNIT_THREAD);
    assert_int_equal(spool.lanes[0].damaged, 1);
    ggs_spool_release(&spool);
    close_run(slot);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ops), cmocka_unit_test(test_op_without_place)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
