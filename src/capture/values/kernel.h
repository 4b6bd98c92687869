// What is noted of a run of floats: extremes, sums, NaN and Inf, a hash and a count sketch, in one
// pass.
//
// A row (what an op computed for one token) is cut into pieces of GGS_VALUES_PIECE elements. Each
// piece is summed by itself, and pieces are added in their order; so the result depends on the
// elements alone, not on how many threads shared them nor on the instructions that the processor
// has.
//
// The sketch: element i is added to bucket i % 16 with a sign that depends on i. It is linear: the
// squared distance of two sketches estimates that of the rows, with a standard deviation of
// 1/sqrt(8) of it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/spool.h"

enum { GGS_VALUES_PIECE = 4096 };

struct ggs_values_sum {
    float    min, max; // of finite elements; min > max: there are none
    double   sum, squares;
    uint32_t nan, inf, n;
    uint32_t largest; // index of the element with the largest absolute value, the first of equals
    uint64_t hash;
    float    sketch[GGS_VALUE_SKETCH];
};

// Chooses the instructions, before anything is summed. `portable`: those that every processor has.
void ggs_values_kernel_init(bool portable);

// Sums a piece of at most GGS_VALUES_PIECE elements, the first of which is number `at` of its row,
// a multiple of GGS_VALUES_PIECE.
void ggs_values_sum(struct ggs_values_sum * sum, const float * values, uint32_t n, uint64_t at);
// Adds the piece that follows.
void ggs_values_join(struct ggs_values_sum * sum, const struct ggs_values_sum * next);
// As the spool has it.
void ggs_values_finish(const struct ggs_values_sum * sum, uint32_t token, struct ggs_spool_value * out);
