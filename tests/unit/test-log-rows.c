// Unit tests of src/analyze/ops/log-rows.c: rows that a filter leaves, in the order that is wanted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/ops/log-rows.h"
#include "recording-fixture.h"

static struct ggs_error error;

struct given {
    uint64_t rows[32];
    uint64_t n_operands[32];
    unsigned n;
};

static void take(void * context, uint64_t row, const struct ggs_log_entry * entry) {
    struct given * given        = context;
    given->rows[given->n]       = row;
    given->n_operands[given->n] = entry->n_operands;
    given->n++;
    assert_int_equal(entry->number, row % 5); // five rows in each of two runs
}

// Finds, reads, and compares with the rows that are expected.
static void expect(const struct ggs_log_filter * filter, struct ggs_log_order order, unsigned n,
                   const uint64_t * expected) {
    struct recording    r;
    struct ggs_trace    trace;
    struct ggs_overview overview;
    struct ggs_log_rows rows;
    struct given        given = {.n = 0};
    small_recording(&r);
    recording_done(&r, &trace);
    assert_int_equal(ggs_overview_compute(&overview, &trace, &error), 0);
    assert_int_equal(overview.rows, 10);
    assert_int_equal(ggs_log_rows_find(&rows, &trace, &overview, filter, order, &error), 0);
    assert_int_equal(rows.n, n);
    assert_int_equal(ggs_log_rows_read(rows.places, rows.n, &trace, filter, take, &given, &error), 0);
    assert_int_equal(given.n, n);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(given.rows[i], expected[i]);
        assert_int_equal(rows.places[i].row, expected[i]);
        assert_true((given.n_operands[i] > 0) == filter->operands);
    }
    ggs_log_rows_release(&rows);
    ggs_overview_release(&overview);
    recording_close(&r, &trace);
}

static void test_orders(void ** state) {
    static const uint64_t plain[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, back[] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    // ADD, GET_ROWS, MUL, MUL_MAT, RMS_NORM; rows that are equal stay as the engine went, in both
    // directions
    static const uint64_t by_op[] = {4, 9, 0, 5, 2, 7, 3, 8, 1, 6}, by_op_down[] = {1, 6, 3, 8, 2, 7, 0, 5, 4, 9};
    static const uint64_t by_wait[] = {3, 8, 0, 1, 4,
                                       5, 6, 9, 2, 7}; // largest first: MUL_MAT waits inside, what is fused not at all
    struct ggs_log_filter filter    = GGS_LOG_ALL;
    (void) state;
    expect(&filter, (struct ggs_log_order){GGS_LOG_ROW, false, 0}, 10, plain);
    expect(&filter, (struct ggs_log_order){GGS_LOG_ROW, true, 0}, 10, back);
    expect(&filter, (struct ggs_log_order){GGS_LOG_BEGIN, false, 0}, 10, plain);
    expect(&filter, (struct ggs_log_order){GGS_LOG_OP, false, 0}, 10, by_op);
    expect(&filter, (struct ggs_log_order){GGS_LOG_OP, true, 0}, 10, by_op_down);
    expect(&filter, (struct ggs_log_order){GGS_LOG_WAIT, true, 0}, 10, by_wait);
    expect(&filter, (struct ggs_log_order){GGS_LOG_WAIT, true, 3}, 3, by_wait); // a limit leaves the first
    filter.operands = true;
    expect(&filter, (struct ggs_log_order){GGS_LOG_OP, false, 0}, 10, by_op);
}

static void test_filters_and_orders(void ** state) {
    // The file is read at 1096 and 1160 (rows of the embedding), 2000 and 3000. What is fused
    // begins with its head, and stays behind it.
    static const uint64_t by_place[] = {0, 5, 2, 7, 3, 8}, token[] = {9, 8, 6, 7, 5};
    struct ggs_log_filter filter = GGS_LOG_ALL;
    (void) state;
    filter.ops.source = GGS_SOURCE_DISK;
    expect(&filter, (struct ggs_log_order){GGS_LOG_SOURCE, false, 0}, 6, by_place);
    filter             = (struct ggs_log_filter) GGS_LOG_ALL;
    filter.first_token = filter.last_token = 1;
    expect(&filter, (struct ggs_log_order){GGS_LOG_BEGIN, true, 0}, 5, token);
    filter.ops.op = "SOFT_MAX";
    expect(&filter, (struct ggs_log_order){GGS_LOG_BEGIN, true, 0}, 0, token);
}

static void test_columns_have_names(void ** state) {
    (void) state;
    assert_int_equal(ggs_log_column_find("row"), GGS_LOG_ROW);
    assert_int_equal(ggs_log_column_find("bytes_read"), GGS_LOG_READ);
    assert_int_equal(ggs_log_column_find("node"), GGS_LOG_NODE);
    assert_int_equal(ggs_log_column_find("colour"), GGS_LOG_COLUMNS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_filters_and_orders),
        cmocka_unit_test(test_columns_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
