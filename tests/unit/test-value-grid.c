// Unit tests of src/analyze/values/value-grid.c: however many tokens and ops there are, the grid
// stays small, and what is remarkable stays in it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/values/value-grid.h"
#include "base/error.h"

static struct ggs_error error;

// Ten ops in each layer, with one before and one behind all layers.
static struct ggs_value_ops make_ops(uint64_t n) {
    struct ggs_value_ops ops = {.nodes = calloc(n, sizeof(*ops.nodes)), .n = n};
    for (uint64_t i = 0; i < n; i++) {
        ops.nodes[i].op    = "MUL_MAT";
        ops.nodes[i].layer = i == 0 || i + 1 == n ? -1 : (int) (i / 10);
        ops.nodes[i].count = 1;
        snprintf(ops.nodes[i].name, sizeof(ops.nodes[i].name), "op-%u", (unsigned) i);
    }
    return ops;
}

// Every token of every op, the one before all layers last; `odd` of the token and op has the marks.
static void fill(struct ggs_value_grid * grid, const struct ggs_value_ops * ops, uint64_t tokens, uint64_t token,
                 uint64_t op, uint8_t marks) {
    for (uint64_t t = 0; t < tokens; t++) {
        int64_t number;
        assert_int_equal(ggs_value_grid_token(grid, t < 100 ? 0 : (int64_t) t - 99, (int64_t) t, &number, &error), 0);
        for (uint64_t i = 0; i < ops->n; i++) {
            uint64_t              at   = (i + 1) % ops->n;
            bool                  odd  = t == token && at == op;
            struct ggs_value_cell cell = {.value = 1 + (double) (t % 7),
                                          .run   = (uint32_t) t + 1,
                                          .node  = (uint32_t) at,
                                          .marks = odd ? marks : 0};
            assert_int_equal(ggs_value_grid_add(grid, ops, at, number, &cell, &error), 0);
        }
    }
    assert_int_equal(ggs_value_grid_finish(grid, ops, NULL, &error), 0);
}

static const struct ggs_value_cell * find(const struct ggs_value_grid * grid, uint8_t mark, uint64_t * n) {
    const struct ggs_value_cell * found = NULL;
    *n                                  = 0;
    for (uint64_t i = 0; i < grid->n_lines; i++) {
        for (uint64_t k = 0; k < grid->n_columns; k++) {
            if ((grid->line[i].cells[k].marks & mark) == 0) continue;
            found = &grid->line[i].cells[k];
            ++*n;
        }
    }
    return found;
}

static void test_tokens_share_columns(void ** state) {
    struct ggs_value_ops  ops  = make_ops(300);
    struct ggs_value_grid grid = GGS_VALUE_GRID_ALL;
    uint64_t              n, sum = 0;
    (void) state;
    fill(&grid, &ops, 3000, 1234, 57, GGS_CELL_NAN);
    assert_int_equal(grid.tokens, 3000);
    assert_int_equal(grid.n_lines, 300);
    assert_true(grid.n_lines * grid.n_columns <= GGS_GRID_CELLS && grid.n_columns > 60);
    for (uint64_t k = 0; k < grid.n_columns; k++) sum += grid.column[k].tokens;
    assert_int_equal(sum, 3000);
    assert_int_equal(grid.column[0].position, 0);
    assert_int_equal(grid.column[grid.n_columns - 1].last_position, 2999);
    assert_int_equal(grid.column[grid.n_columns - 1].last_token, 2900);
    const struct ggs_value_cell * odd = find(&grid, GGS_CELL_NAN, &n);
    assert_int_equal(n, 1);
    assert_int_equal(odd->run, 1235);
    assert_int_equal(odd->node, 57);
    // the largest of each cell, and in order although the first op came last
    assert_float_equal(grid.line[3].cells[5].value, 7, 0);
    assert_string_equal(grid.line[0].node->name, "op-0");
    assert_string_equal(grid.line[299].node->name, "op-299");
    ggs_value_grid_release(&grid);
    free(ops.nodes);
}

static void test_many_ops_share_lines(void ** state) {
    struct ggs_value_ops  ops  = make_ops(2000);
    struct ggs_value_grid grid = GGS_VALUE_GRID_ALL;
    uint64_t              n, sum = 0;
    (void) state;
    fill(&grid, &ops, 3, 2, 1999, GGS_CELL_INF);
    assert_true(grid.by_layer);
    assert_int_equal(grid.n_lines, 202); // 200 layers and two ops of none
    assert_int_equal(grid.n_columns, 3);
    for (uint64_t i = 0; i < grid.n_lines; i++) sum += grid.line[i].ops;
    assert_int_equal(sum, 2000);
    assert_int_equal(find(&grid, GGS_CELL_INF, &n)->node, 1999);
    assert_int_equal(n, 1);
    assert_int_equal(grid.line[0].node->layer, -1);
    assert_int_equal(grid.line[1].node->layer, 0);
    assert_int_equal(grid.line[201].node->layer, -1);
    ggs_value_grid_release(&grid);
    free(ops.nodes);
}

static void test_window(void ** state) {
    struct ggs_value_ops  ops  = make_ops(12);
    struct ggs_value_grid grid = GGS_VALUE_GRID_ALL, one = GGS_VALUE_GRID_ALL;
    uint64_t              n;
    (void) state;
    grid.first_step = 1; // token 100 on
    grid.from       = 10;
    grid.to         = 15;
    fill(&grid, &ops, 150, 112, 3, GGS_CELL_WRONG);
    assert_int_equal(grid.tokens, 50);
    assert_int_equal(grid.n_columns, 5);
    assert_int_equal(grid.column[0].position, 110);
    assert_int_equal(find(&grid, GGS_CELL_WRONG, &n)->run, 113);
    one.run     = 113;
    one.columns = 1;
    fill(&one, &ops, 150, 112, 3, GGS_CELL_WRONG);
    assert_int_equal(one.n_columns, 1);
    assert_int_equal(one.line[4].cells[0].run, 113);
    ggs_value_grid_release(&grid);
    ggs_value_grid_release(&one);
    free(ops.nodes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_share_columns),
        cmocka_unit_test(test_many_ops_share_lines),
        cmocka_unit_test(test_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
