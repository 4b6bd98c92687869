// The elements of a tensor as floats, in the order of its dimensions, for any type and strides.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/values/plan.h"
#include "preload/ggml-abi.h"
#include "trace/values/row-summary.h"

// True if elements of this type, a tensor's, can be converted. The engine's own functions do it;
// they are looked up and checked at the first call.
bool ggs_values_can_read(int type);
// True if sealing converts such elements to the same bits as the engine does (block-floats.h).
// `type` must be one that can be read.
bool ggs_values_can_defer(int type);
// Bytes of `n` elements of a type that can be read.
size_t ggs_values_bytes_of(int type, uint64_t n);
// True if source 1 of a SET_ROWS names the rows that it writes.
bool ggs_values_can_set(const struct abi_tensor * node);

// Returns the first row of an output whose rows are consecutive floats, `stride` bytes from one row
// to the next; NULL for any other.
const float * ggs_values_rows_at(const struct abi_tensor * tensor, const struct ggs_values_node * node,
                                 size_t * stride);
// Summarises a row of any output.
void ggs_values_read_row(struct ggs_spool_value * out, const struct abi_tensor * tensor,
                         const struct ggs_values_node * node, uint32_t row, uint32_t token);
// Sums the piece of `row` that begins at element `at`, a multiple of GGS_VALUES_PIECE.
void ggs_values_read(struct ggs_values_sum * sum, const struct abi_tensor * tensor, const struct ggs_values_node * node,
                     uint32_t row, uint64_t at);
