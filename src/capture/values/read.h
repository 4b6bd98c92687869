// The elements of a tensor as floats, in the order of its dimensions, for any type and strides.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/values/kernel.h"
#include "capture/values/plan.h"
#include "preload/ggml-abi.h"

// True if elements of this type, a tensor's, can be converted. The engine's own functions do it;
// they are looked up and checked at the first call.
bool ggs_values_can_read(int type);
// True if source 1 of a SET_ROWS names the rows that it writes.
bool ggs_values_can_set(const struct abi_tensor * node);

// Sums the piece of `row` that begins at element `at`, a multiple of GGS_VALUES_PIECE.
void ggs_values_read(struct ggs_values_sum * sum, const struct abi_tensor * tensor, const struct ggs_values_node * node,
                     uint32_t row, uint64_t at);
