#include "analyze/values/value-grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/values/value-passes.h"
#include "base/array.h"
#include "base/error.h"

// ---- cells ----

// The error as a share of the limit. An unknown limit ranks lowest.
static double score_of(const struct ggs_value_cell * cell) {
    if (cell->allowed <= 0) return cell->value;
    return isfinite(cell->allowed) ? cell->value / cell->allowed : 0;
}

static unsigned rank_of(const struct ggs_value_cell * cell) {
    return cell->marks & GGS_CELL_NAN     ? 4
           : cell->marks & GGS_CELL_INF   ? 3
           : cell->marks & GGS_CELL_WRONG ? 2
                                          : cell->marks & GGS_CELL_SEEN;
}

static void join_cell(struct ggs_value_cell * to, const struct ggs_value_cell * from) {
    unsigned x = rank_of(to), y = rank_of(from);
    if (y > x || (y == x && y > 0 && score_of(from) > score_of(to))) {
        uint8_t marks = to->marks;
        *to           = *from;
        to->marks |= marks;
    } else {
        to->marks |= from->marks;
    }
}

// ---- columns ----

static void join_column(struct ggs_value_column * to, const struct ggs_value_column * from) {
    if (from->tokens == 0) return;
    if (to->tokens == 0) {
        *to = *from;
        return;
    }
    to->last_token    = from->last_token;
    to->last_position = from->last_position;
    to->tokens += from->tokens;
}

// Doubles the number of tokens per column.
static void fold(struct ggs_value_grid * grid) {
    uint64_t half = (grid->n_columns + 1) / 2;
    for (uint64_t i = 0; i < half; i++) {
        struct ggs_value_column pair = grid->column[2 * i];
        if (2 * i + 1 < grid->n_columns) join_column(&pair, &grid->column[2 * i + 1]);
        grid->column[i] = pair;
    }
    memset(grid->column + half, 0, (grid->columns - half) * sizeof(*grid->column));
    for (uint64_t l = 0; l < grid->n_lines; l++) {
        struct ggs_value_cell * cells = grid->line[l].cells;
        for (uint64_t i = 0; i < half; i++) {
            struct ggs_value_cell pair = cells[2 * i];
            if (2 * i + 1 < grid->n_columns) join_cell(&pair, &cells[2 * i + 1]);
            cells[i] = pair;
        }
        memset(cells + half, 0, (grid->columns - half) * sizeof(*cells));
    }
    grid->n_columns = half;
    grid->width *= 2;
}

int ggs_value_grid_token(struct ggs_value_grid * grid, int64_t step, int64_t position, int64_t * number,
                         struct ggs_error * error) {
    *number = -1;
    if (grid->column == NULL) {
        if (grid->columns < 1 || grid->columns > GGS_GRID_COLUMNS) grid->columns = GGS_GRID_COLUMNS;
        grid->width  = 1;
        grid->column = calloc(grid->columns, sizeof(*grid->column));
        if (grid->column == NULL) return ggs_fail_memory(error);
    }
    if (step < grid->first_step || step > grid->last_step) return 0;
    uint64_t at = grid->tokens++;
    if (at < grid->from || at >= grid->to) return 0;
    at -= grid->from;
    while (at / grid->width >= grid->columns) fold(grid);
    uint64_t column = at / grid->width;
    join_column(&grid->column[column], &(struct ggs_value_column){step, step, position, position, 1});
    if (grid->n_columns <= column) grid->n_columns = column + 1;
    *number = (int64_t) at;
    return 0;
}

// ---- rows ----

static bool shares_line(const struct ggs_value_grid * grid, const struct ggs_value_ops * ops, uint64_t line,
                        uint64_t op) {
    const struct ggs_value_node *x = &ops->nodes[grid->line[line].op], *y = &ops->nodes[op];
    // Ops without a layer have rows of their own as long as these are few.
    return x->layer == y->layer && (x->layer >= 0 || strcmp(x->name, y->name) == 0 || grid->n_lines >= GGS_GRID_ROWS);
}

// Finds or adds the row of the op's layer.
static int line_of_layer(struct ggs_value_grid * grid, const struct ggs_value_ops * ops, uint64_t op, uint64_t * line,
                         struct ggs_error * error) {
    struct ggs_value_line fresh = {.op = op};
    *line                       = 0;
    while (*line < grid->n_lines && !(grid->by_layer ? shares_line(grid, ops, *line, op) : grid->line[*line].op == op))
        ++*line;
    if (*line == 4 * (uint64_t) GGS_GRID_ROWS) {
        --*line; // beyond the layers of any model
    } else if (*line == grid->n_lines) {
        fresh.cells = calloc(grid->columns, sizeof(*fresh.cells));
        if (fresh.cells == NULL || !ggs_array_push(grid->line, grid->n_lines, grid->lines_capacity, fresh)) {
            free(fresh.cells);
            return ggs_fail_memory(error);
        }
    }
    return 0;
}

// Folds the rows of ops into rows of layers if there are too many.
static int fold_lines(struct ggs_value_grid * grid, const struct ggs_value_ops * ops, struct ggs_error * error) {
    struct ggs_value_line * all    = grid->line;
    uint64_t                n      = grid->n_lines, line;
    int                     status = 0;
    grid->line                     = NULL;
    grid->n_lines = grid->lines_capacity = 0;
    grid->by_layer                       = true;
    for (uint64_t i = 0; i < n; i++) {
        if (status == 0) status = line_of_layer(grid, ops, all[i].op, &line, error);
        if (status == 0) {
            grid->line[line].ops++;
            grid->line_of[all[i].op] = line + 1;
            for (uint64_t c = 0; c < grid->n_columns; c++) join_cell(&grid->line[line].cells[c], &all[i].cells[c]);
        }
        free(all[i].cells);
    }
    free(all);
    return status;
}

static int find_line(struct ggs_value_grid * grid, const struct ggs_value_ops * ops, uint64_t op, uint64_t * line,
                     struct ggs_error * error) {
    if (!ggs_array_reserve(grid->line_of, grid->line_of_capacity, op + 1)) return ggs_fail_memory(error);
    if (grid->n_line_of <= op) {
        memset(grid->line_of + grid->n_line_of, 0, (op + 1 - grid->n_line_of) * sizeof(*grid->line_of));
        grid->n_line_of = op + 1;
    }
    if (grid->line_of[op] == 0) {
        int status = 0;
        if (!grid->by_layer && grid->n_lines == GGS_GRID_ROWS) status = fold_lines(grid, ops, error);
        if (status == 0) status = line_of_layer(grid, ops, op, line, error);
        if (status != 0) return status;
        grid->line[*line].ops++;
        grid->line_of[op] = *line + 1;
    }
    *line = grid->line_of[op] - 1;
    return 0;
}

int ggs_value_grid_add(struct ggs_value_grid * grid, const struct ggs_value_ops * ops, uint64_t op, int64_t number,
                       const struct ggs_value_cell * cell, struct ggs_error * error) {
    uint64_t              line;
    struct ggs_value_cell seen = *cell;
    if (number < 0 || (grid->run != 0 && cell->run != grid->run)) return 0;
    int      status = find_line(grid, ops, op, &line, error);
    uint64_t column = (uint64_t) number / grid->width;
    seen.marks |= GGS_CELL_SEEN;
    if (status == 0 && column < grid->columns) join_cell(&grid->line[line].cells[column], &seen);
    return status;
}

struct place {
    int64_t               group;
    uint64_t              op;
    struct ggs_value_line line;
};

static int by_place(const void * a, const void * b) {
    const struct place *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

// Ops without a layer come first if they are computed before all layers.
static int sort_lines(struct ggs_value_grid * grid, const struct ggs_value_ops * ops, struct ggs_error * error) {
    struct place * places = calloc(grid->n_lines + 1, sizeof(*places));
    uint64_t       first  = 0;
    if (places == NULL) return ggs_fail_memory(error);
    while (first < ops->n && ops->nodes[first].layer < 0) first++;
    for (uint64_t i = 0; i < grid->n_lines; i++) {
        struct ggs_value_line * line = &grid->line[i];
        line->node                   = &ops->nodes[line->op];
        int64_t group                = line->node->layer >= 0 ? line->node->layer : line->op < first ? -1 : INT64_MAX;
        places[i]                    = (struct place){group, line->op, *line};
    }
    if (grid->n_lines > 1) qsort(places, grid->n_lines, sizeof(*places), by_place);
    for (uint64_t i = 0; i < grid->n_lines; i++) grid->line[i] = places[i].line;
    free(places);
    return 0;
}

static bool is_worse(const struct ggs_value_compared * a, const struct ggs_value_compared * than) {
    return than == NULL || a->verdict > than->verdict ||
           (a->verdict == GGS_VALUE_WRONG && than->verdict == GGS_VALUE_WRONG &&
            a->found.first.order < than->found.first.order);
}

int ggs_value_grid_finish(struct ggs_value_grid * grid, const struct ggs_value_ops * ops,
                          const struct ggs_value_diff * diff, struct ggs_error * error) {
    while (grid->n_columns > 1 && grid->n_columns * grid->n_lines > GGS_GRID_CELLS) fold(grid);
    for (uint64_t i = 0; diff != NULL && i < diff->n_ops; i++) {
        const struct ggs_value_compared * compared = &diff->ops[i];
        uint64_t                          op       = (uint64_t) (compared->node - ops->nodes);
        if (op >= grid->n_line_of || grid->line_of[op] == 0) continue;
        struct ggs_value_line * line = &grid->line[grid->line_of[op] - 1];
        if (is_worse(compared, line->compared)) line->compared = compared;
    }
    return sort_lines(grid, ops, error);
}

void ggs_value_grid_release(struct ggs_value_grid * grid) {
    for (uint64_t i = 0; i < grid->n_lines; i++) free(grid->line[i].cells);
    free(grid->line);
    free(grid->line_of);
    free(grid->column);
    ggs_value_ops_release(&grid->ops);
    *grid = (struct ggs_value_grid) GGS_VALUE_GRID_ALL;
}

// ---- one recording ----

static int add_row(struct ggs_value_grid * grid, const struct ggs_value_row * row, const int64_t * numbers, uint64_t n,
                   struct ggs_error * error) {
    const struct ggs_value_node * node = &grid->ops.nodes[row->op];
    struct ggs_value_cell         cell = {
                .value = grid->largest ? row->largest : row->rms,
                .run   = row->run,
                .node  = row->node,
                .marks = (uint8_t) ((row->nan > 0 ? GGS_CELL_NAN : 0) | (row->inf > 0 ? GGS_CELL_INF : 0))};
    uint64_t first = row->token < 0 ? 0 : (uint64_t) row->token, last = row->token < 0 ? n : first + 1;
    int      status = 0;
    if (node->choice || !node->asked) return 0;
    for (uint64_t t = first; status == 0 && t < last && t < n; t++)
        status = ggs_value_grid_add(grid, &grid->ops, row->op, numbers[t], &cell, error);
    return status;
}

static int add_pass(struct ggs_value_grid * grid, const struct ggs_value_pass * pass, struct ggs_error * error) {
    // A pass without tokens is one column.
    uint64_t  n       = pass->n_tokens > 0 ? pass->n_tokens : 1;
    int64_t * numbers = calloc(n, sizeof(*numbers));
    int       status  = numbers == NULL ? ggs_fail_memory(error) : 0;
    for (uint64_t t = 0; status == 0 && t < n; t++)
        status = ggs_value_grid_token(grid, pass->step, t < pass->n_tokens ? pass->tokens[t].position : -1, &numbers[t],
                                      error);
    for (uint64_t i = 0; status == 0 && i < pass->n_rows; i++)
        status = add_row(grid, &pass->rows[i], numbers, n, error);
    free(numbers);
    return status;
}

int ggs_value_grid_compute(struct ggs_value_grid * grid, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_value_passes * passes = NULL;
    struct ggs_value_pass     pass;
    if (ggs_reader_rows(trace->reader, GGS_TABLE_OP_VALUES) == 0)
        return ggs_fail(error, GGS_ABSENT,
                        "no values were recorded: record again with --values, or with a REGEX that some OP:tensor "
                        "matches, such as --values=ffn_out");
    int status = ggs_value_passes_open(&passes, trace, &grid->ops, error);
    while (status == 0 && (status = ggs_value_passes_next(passes, &pass, error)) > 0) {
        status = add_pass(grid, &pass, error);
        ggs_value_pass_release(&pass);
    }
    ggs_value_passes_close(passes);
    return status == 0 ? ggs_value_grid_finish(grid, &grid->ops, NULL, error) : status;
}
