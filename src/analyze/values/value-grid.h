// Values as a grid for a picture: a row for each op or layer, a column for each token or several.
//
// Its size does not grow with the recording. A cell stands for all outputs that fall into it and
// shows the most remarkable of them: one with NaN, with infinities, one that is wrong, or else the
// largest.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/values/value-diff.h"

enum {
    GGS_GRID_COLUMNS = 512,   // most
    GGS_GRID_ROWS    = 1024,  // ops; of more, layers
    GGS_GRID_CELLS   = 40000, // tokens share columns until there are no more
};

enum { GGS_CELL_SEEN = 1, GGS_CELL_NAN = 2, GGS_CELL_INF = 4, GGS_CELL_WRONG = 8 };

struct ggs_value_cell {
    double   value;     // rms, largest absolute value, or error
    double   allowed;   // of an error: what inputs and rounding explain; infinite if that is not known
    uint32_t run, node; // that computed it
    uint8_t  marks;     // GGS_CELL_...
};

// Of tokens that share it, the first and the last.
struct ggs_value_column {
    int64_t  token, last_token; // steps
    int64_t  position, last_position;
    uint64_t tokens;
};

struct ggs_value_line {
    const struct ggs_value_node *     node; // the first one; lives as long as its ops
    const struct ggs_value_compared * compared;
    uint64_t                          op;  // index of it
    uint64_t                          ops; // that share the row
    struct ggs_value_cell *           cells;
};

struct ggs_value_grid {
    // asked for
    bool     by_layer; // also set if there are too many ops
    bool     largest;  // the largest absolute value instead of the rms
    int64_t  first_step, last_step;
    uint64_t run;      // cells of this graph run alone; 0: all
    uint64_t from, to; // of the tokens in order, the last excluded
    uint64_t columns;  // most
    // found
    struct ggs_value_ops      ops;    // of ggs_value_grid_compute
    uint64_t                  tokens; // of the steps, in the window or not
    uint64_t                  width;  // tokens to a column
    struct ggs_value_column * column;
    uint64_t                  n_columns;
    struct ggs_value_line *   line; // layers in order, what is before and behind them at the ends
    uint64_t                  n_lines, lines_capacity;
    uint64_t *                line_of; // by op: index + 1
    uint64_t                  line_of_capacity, n_line_of;
};

// Everything, a row for each op.
#define GGS_VALUE_GRID_ALL \
    { .last_step = INT64_MAX, .to = UINT64_MAX, .columns = 256 }

// Of one recording; GGS_ABSENT with a sentence if it has no values. Of two: ggs_value_diff_compute.
int ggs_value_grid_compute(struct ggs_value_grid * grid, struct ggs_trace * trace, struct ggs_error * error);
// A grid of GGS_VALUE_GRID_ALL that nothing was put into is fine.
void ggs_value_grid_release(struct ggs_value_grid * grid);

// For those who fill it: tokens in order, each with a number that is -1 outside of the window; then
// their outputs; then the end, with `diff` NULL for one recording. `ops` has the op and lives as
// long as the grid.
int ggs_value_grid_token(struct ggs_value_grid * grid, int64_t step, int64_t position, int64_t * number,
                         struct ggs_error * error);
int ggs_value_grid_add(struct ggs_value_grid * grid, const struct ggs_value_ops * ops, uint64_t op, int64_t number,
                       const struct ggs_value_cell * cell, struct ggs_error * error);
int ggs_value_grid_finish(struct ggs_value_grid * grid, const struct ggs_value_ops * ops,
                          const struct ggs_value_diff * diff, struct ggs_error * error);
