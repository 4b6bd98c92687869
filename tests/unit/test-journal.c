// The journal and the lanes where room is short: what is lost is counted, and in a sandbox all
// streams share what was made ahead.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/system/ticks.h"
#include "capture/journal.h"
#include "capture/losses.h"
#include "capture/sandbox.h"
#include "capture/slots.h"
#include "trace-fixture.h"
#include "trace/spool-reader.h"

enum { LANES = 16, SEGMENTS = 60, NODES = 4000, RECORD = 100000 };

static struct abi_tensor * nodes[NODES];
static uint8_t             copies[NODES + 1];

// One graph run with all its op runs, and what the journal says of it. False if there was no room.
static bool run_once(uint32_t run, int lanes) {
    static uint8_t            text[RECORD];
    struct abi_graph          graph = {.n_nodes = NODES, .nodes = nodes};
    struct ggs_captured_graph known = {.id = 1, .n_nodes = NODES, .last_executed = NODES - 1, .copies = copies};
    struct ggs_piece          piece = {text, sizeof(text)};
    memset(text, 'x', sizeof(text) - 1);
    if (ggs_journal_append(GGS_JOURNAL_ENGINE, &piece, 1) != 0) return false;
    struct ggs_slot * slot = ggs_slot_open(run, &graph, &known, NULL, lanes);
    if (slot == NULL) return false;
    for (int i = 0; i < lanes; i++)
        for (uint32_t node = 0; node < NODES; node++)
            ggs_lane_end(ggs_lane_begin_at(slot->lanes[i], run, node, ggs_ticks_now(), false), 5, 0, 0);
    assert_int_equal(ggs_slot_close(slot), 0);
    return true;
}

// What a reader finds: op runs of each lane, records of the journal, and what is lost.
struct found {
    uint64_t op_runs[LANES + 1], records, lost;
    size_t   lanes;
};

static struct found read_spool(const char * folder) {
    struct found     found = {0};
    struct ggs_spool spool;
    struct ggs_error error;
    assert_int_equal(ggs_spool_open(&spool, folder, &error), 0);
    found.lanes = spool.n_lanes;
    for (size_t i = 0; i < spool.n_lanes; i++) {
        const struct ggs_unit * unit;
        while ((unit = ggs_spool_stream_unit(&spool.lanes[i])) != NULL) {
            found.op_runs[i] += unit->type == GGS_UNIT_OP;
            ggs_spool_stream_skip(&spool.lanes[i]);
        }
        assert_int_equal(spool.lanes[i].damaged + spool.lanes[i].missing, 0);
    }
    struct ggs_record record;
    while (ggs_spool_stream_record(&spool.journal, &record)) {
        found.records += record.type == GGS_JOURNAL_ENGINE;
        if (record.type == GGS_JOURNAL_LOSS) found.lost += ((const struct ggs_journal_loss *) record.body)->count;
    }
    assert_int_equal(spool.journal.damaged + spool.journal.missing, 0);
    ggs_spool_release(&spool);
    return found;
}

static void test_sandbox(void ** state) {
    (void) state;
    char *                      folder   = scratch_make();
    struct ggs_segment_settings settings = {.most_bytes = (uint64_t) SEGMENTS << 20};
    snprintf(settings.directory, sizeof(settings.directory), "%s", folder);
    ggs_segment_configure(&settings);
    ggs_ticks_choose();
    for (uint32_t i = 0; i < NODES; i++) nodes[i] = (struct abi_tensor *) ((uintptr_t) (i + 1) << 4);
    assert_int_equal(ggs_journal_begin(), 0);
    uint32_t runs = 0;
    assert_true(run_once(++runs, LANES));
    ggs_segment_prepare(16 * (ggs_slots_lanes() + 1));
    ggs_sandbox_ = true;
    assert_true(run_once(++runs, LANES + 1)); // a thread that was not there before has a lane too
    while (run_once(++runs, LANES)) {}
    runs--;

    // A segment has room for 8 runs. Each lane has one and gets two of the 43 that were made ahead,
    // the journal two, the new lane one.
    assert_int_equal(runs, 24);
    struct found found = read_spool(folder);
    assert_int_equal(found.lanes, LANES + 1);
    for (int i = 0; i < LANES; i++) assert_int_equal(found.op_runs[i], (uint64_t) runs * NODES);
    assert_int_equal(found.op_runs[LANES], NODES);
    assert_in_range(found.records, runs, runs + 1);
    assert_int_equal(found.lost, 0);

    // Nothing fits any more but what is lost.
    while (ggs_journal_text(GGS_JOURNAL_FILE, "a file") == 0) {}
    for (int i = 0; i < 1000; i++) ggs_losses_count(GGS_LOSS_SPACE, 3);
    ggs_losses_count(GGS_LOSS_SLOTS, 1);
    assert_non_null(ggs_journal_append_loss(GGS_LOSS_SPACE, 7, runs, 0, 0));
    assert_int_equal(read_spool(folder).lost, 3008);

    // A child of this process does not count in its parent's journal.
    ggs_losses_forget();
    ggs_losses_count(GGS_LOSS_SPACE, 3);
    assert_int_equal(read_spool(folder).lost, 3008);
    struct ggs_error error;
    assert_int_equal(ggs_spool_remove(folder, &error), 0);
    scratch_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sandbox)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
