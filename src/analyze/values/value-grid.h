// Values as a grid for a picture: a row per op or layer, a column per token or several.
//
// The size of the grid does not grow with the recording. A cell covers all outputs that fall into
// it and shows the most remarkable one: NaN, infinities, a wrong one, or else the largest.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/values/value-diff.h"

enum {
    GGS_GRID_COLUMNS = 512,   // at most
    GGS_GRID_ROWS    = 1024,  // at most; with more ops, rows are layers
    GGS_GRID_CELLS   = 40000, // at most; tokens share columns to stay below
};

enum { GGS_CELL_SEEN = 1, GGS_CELL_NAN = 2, GGS_CELL_INF = 4, GGS_CELL_WRONG = 8 };

struct ggs_value_cell {
    double   value;     // rms, largest absolute value, or error
    double   allowed;   // of an error: what inputs and rounding explain, infinite if unknown
    uint32_t run, node; // of the output that is shown
    uint8_t  marks;     // GGS_CELL_...
};

// The first and the last token of a column.
struct ggs_value_column {
    int64_t  token, last_token; // steps
    int64_t  position, last_position;
    uint64_t tokens;
};

struct ggs_value_line {
    const struct ggs_value_node *     node; // the first one; lives as long as the ops
    const struct ggs_value_compared * compared;
    uint64_t                          op;  // its index
    uint64_t                          ops; // that share the row
    struct ggs_value_cell *           cells;
};

struct ggs_value_grid {
    // Set by the caller:
    bool     by_layer; // also set if there are too many ops
    bool     largest;  // show the largest absolute value instead of the rms
    int64_t  first_step, last_step;
    uint64_t run;      // show this graph run alone; 0 for all
    uint64_t from, to; // range of tokens in order, `to` excluded
    uint64_t columns;  // most
    // Filled in:
    struct ggs_value_ops      ops;    // of ggs_value_grid_compute
    uint64_t                  tokens; // of the steps, inside the range or outside
    uint64_t                  width;  // tokens per column
    struct ggs_value_column * column;
    uint64_t                  n_columns;
    struct ggs_value_line *   line; // layers in order; ops outside of layers before and after them
    uint64_t                  n_lines, lines_capacity;
    uint64_t *                line_of; // by op: index + 1
    uint64_t                  line_of_capacity, n_line_of;
};

// All tokens, a row per op.
#define GGS_VALUE_GRID_ALL \
    { .last_step = INT64_MAX, .to = UINT64_MAX, .columns = 256 }

// For one recording; returns GGS_ABSENT with a sentence if it has no values. ggs_value_diff_compute
// is for two.
int ggs_value_grid_compute(struct ggs_value_grid * grid, struct ggs_trace * trace, struct ggs_error * error);
// A grid of GGS_VALUE_GRID_ALL without contents is allowed.
void ggs_value_grid_release(struct ggs_value_grid * grid);

// For code that fills a grid: first tokens in order, each with its number or -1 outside of the
// range, then their outputs, then the end, with `diff` NULL for one recording. `ops` has the op and
// lives as long as the grid.
int ggs_value_grid_token(struct ggs_value_grid * grid, int64_t step, int64_t position, int64_t * number,
                         struct ggs_error * error);
int ggs_value_grid_add(struct ggs_value_grid * grid, const struct ggs_value_ops * ops, uint64_t op, int64_t number,
                       const struct ggs_value_cell * cell, struct ggs_error * error);
int ggs_value_grid_finish(struct ggs_value_grid * grid, const struct ggs_value_ops * ops,
                          const struct ggs_value_diff * diff, struct ggs_error * error);
