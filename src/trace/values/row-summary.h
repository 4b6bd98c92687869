// The summary of a row of floats: extremes, sums, NaN and Inf, a hash and a count sketch, in one
// pass.
//
// A row (an op's output for one token) is cut into pieces of GGS_VALUES_PIECE elements. Each piece
// is summed by itself, and pieces are added in order. So the result depends on the elements alone,
// not on the number of threads or the processor's instructions.
//
// The sketch: element i is added to bucket i % 16 with a sign that depends on i. It is linear: the
// squared distance of two sketches estimates that of the rows, with a standard deviation of
// 1/sqrt(8) of it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/spool.h"

enum { GGS_VALUES_PIECE = 4096 };

struct ggs_values_sum {
    float    min, max; // of finite elements; min > max if there are none
    double   sum, squares;
    uint32_t nan, inf, n;
    uint32_t largest; // index of an element with the largest absolute value
    uint64_t hash;
    float    sketch[GGS_VALUE_SKETCH];
};

// Selects the instructions. Called before anything is summed. `portable`: only those of every
// processor.
void ggs_values_kernel_init(bool portable);
void ggs_values_kernel_begin(void); // the best ones; for pthread_once

// Summarises rows of at most GGS_VALUES_PIECE elements, `stride` bytes from one to the next. The
// caller sets `token`.
void ggs_values_rows(struct ggs_spool_value * out, const float * values, size_t stride, uint32_t n, uint32_t rows);

// Longer rows, piece by piece. Sums a piece of at most GGS_VALUES_PIECE elements. Its first element
// has number `at` in its row, a multiple of GGS_VALUES_PIECE.
void ggs_values_sum(struct ggs_values_sum * sum, const float * values, uint32_t n, uint64_t at);
// Adds the next piece.
void ggs_values_join(struct ggs_values_sum * sum, const struct ggs_values_sum * next);
// Converts the sum of a row to the form of the spool.
void ggs_values_finish(const struct ggs_values_sum * sum, uint32_t token, struct ggs_spool_value * out);
