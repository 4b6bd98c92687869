// Machines whose pages are not 4 KiB: what is counted in pages is counted in those of the recorded
// machine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/machine/machine-heat.h"
#include "analyze/machine/prove.h"
#include "analyze/machine/residency.h"
#include "analyze/paging/paging.h"
#include "base/error.h"
#include "recording-fixture.h"

static struct ggs_error error;

// A weight of 128 KiB at 100,000: the bytes 100,000 to 231,071. One op reads it; that and what the
// machine did is in the recording.
enum { OFFSET = 100000, ROWS = 512, SIZE = 64 * ROWS * 4, FILE_SIZE = 400000, FAULT = 200000 };

static void record(struct recording * r, struct ggs_trace * trace, uint64_t page_size, uint64_t first, uint64_t pages) {
    recording_open_paged(r, page_size);
    uint64_t file   = recording_file(r, "/nowhere/model.gguf", FILE_SIZE);
    uint64_t buffer = recording_buffer(r, 1 << 20, GGS_CLASS_COMPUTE, 0, 1000000);
    uint64_t weight = recording_tensor(r, "blk.0.attn_q.weight", F32, 64, ROWS, 1, in_file(file, OFFSET));
    uint64_t input  = recording_tensor(r, "attn_norm-0", F32, 64, 1, 1, in_buffer(buffer));
    uint64_t result = recording_tensor(r, "Qcur-0", F32, ROWS, 1, 1, in_buffer(buffer));
    recording_node(r, 1, OP_MUL_MAT, result, weight, input, 0);
    struct ggs_run run = {.run      = 1,
                          .graph    = 1,
                          .phase    = GGS_PHASE_PROMPT,
                          .backend  = recording_string(r, "CPU"),
                          .host     = 1,
                          .begin_ns = 1000,
                          .end_ns   = 2000,
                          .threads  = 1,
                          .nodes    = 1,
                          .executed = 1,
                          .op_runs  = 1};
    recording_run(r, &run);
    recording_op_run(r, 1, 0, 0, 1100, 50, 0, 0, 0);
    recording_step(r, 0, GGS_PHASE_PROMPT, 1, 1000, 2000, 1);
    recording_row(r, GGS_TABLE_PAGES,
                  &(struct ggs_pages){.run = 1, .node = 0, .file = file, .page = first, .pages = pages});
    recording_row(r, GGS_TABLE_RESIDENCY,
                  &(struct ggs_residency){.snapshot = 1,
                                          .moment   = GGS_MOMENT_END,
                                          .begin_ns = 3000,
                                          .step     = -1,
                                          .file     = file,
                                          .page     = 0,
                                          .pages    = 2,
                                          .process  = 1});
    recording_row(r, GGS_TABLE_FAULTS,
                  &(struct ggs_fault){.begin_ns    = 1110,
                                      .duration_ns = 7,
                                      .kind        = GGS_FAULT_MAJOR,
                                      .file        = file,
                                      .file_offset = FAULT,
                                      .run         = 1,
                                      .node        = 0,
                                      .process     = 1});
    recording_done(r, trace);
}

static void holds(uint64_t page_size, uint64_t believed) {
    struct recording         r;
    struct ggs_trace         trace;
    struct ggs_proof         proof;
    struct ggs_paging        paging;
    struct ggs_model_map     map;
    struct ggs_machine_heat  heat;
    struct ggs_totals        totals;
    struct ggs_resident_list list;
    uint64_t                 first = OFFSET / believed, pages = (OFFSET + SIZE - 1) / believed - first + 1;
    record(&r, &trace, page_size, first, pages);
    assert_int_equal(ggs_trace_page_size(&trace), believed);

    assert_int_equal(ggs_proof_compute(&proof, &trace, &error), 0);
    assert_int_equal(proof.page_size, believed);
    assert_int_equal(proof.total.predicted, pages);
    assert_int_equal(proof.total.touched, pages);
    assert_int_equal(proof.n_surprises, 0);
    ggs_proof_release(&proof);

    struct ggs_paging_options options = {.last_step = INT64_MAX, .policies = {true, true, true, true}};
    assert_int_equal(ggs_paging_compute(&paging, &trace, &options, &error), 0);
    assert_int_equal(paging.page, believed);
    assert_int_equal(paging.touched_bytes, pages * believed);
    assert_int_equal(ggs_paging_demand(&paging), pages * believed);
    ggs_paging_release(&paging);

    assert_int_equal(ggs_model_map_make(&map, &trace, &error), 0);
    assert_int_equal(ggs_machine_heat_compute(&heat, &trace, &map, 0, INT64_MAX, &error), 0);
    assert_int_equal(heat.page_bytes, believed);
    bool faulted = false;
    for (uint64_t i = 0; i < heat.n_stretches; i++) {
        if (heat.stretch[i].sum.major == 0) continue;
        assert_int_equal(heat.stretch[i].offset, FAULT / believed * believed);
        faulted = true;
    }
    assert_true(faulted);
    ggs_machine_heat_release(&heat);
    ggs_model_map_release(&map);

    assert_int_equal(ggs_totals_compute(&totals, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(ggs_resident_list(&list, &trace, &totals, &error), 0);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.snapshot[0].bytes, 2 * believed);
    ggs_resident_release(&list);
    ggs_totals_release(&totals);
    recording_close(&r, &trace);
}

static void test_pages_of_4k(void ** state) {
    (void) state;
    holds(4 << 10, 4 << 10);
}

static void test_pages_of_16k(void ** state) {
    (void) state;
    holds(16 << 10, 16 << 10);
}

static void test_pages_of_64k(void ** state) {
    (void) state;
    holds(64 << 10, 64 << 10);
}

// 3 pages of 64 KiB where 4 KiB would be 33.
static void test_on_paper(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_trace  trace;
    struct ggs_paging paging;
    record(&r, &trace, 64 << 10, 1, 3);
    struct ggs_paging_options options = {.last_step = INT64_MAX, .policies = {true}};
    assert_int_equal(ggs_paging_compute(&paging, &trace, &options, &error), 0);
    assert_int_equal(paging.touched_bytes, 196608);
    ggs_paging_release(&paging);
    options.page = 4096; // as the user says
    assert_int_equal(ggs_paging_compute(&paging, &trace, &options, &error), 0);
    assert_int_equal(paging.touched_bytes, 135168);
    ggs_paging_release(&paging);
    recording_close(&r, &trace);
}

static void test_sizes_that_no_machine_has(void ** state) {
    (void) state;
    uint64_t sizes[] = {0, 1, 4095, 12288, 1ull << 40, UINT64_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) holds(sizes[i], 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_of_4k),
        cmocka_unit_test(test_pages_of_16k),
        cmocka_unit_test(test_pages_of_64k),
        cmocka_unit_test(test_on_paper),
        cmocka_unit_test(test_sizes_that_no_machine_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
