// Whole tensors of ops (record --values-dump): inputs and outputs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/slots.h"

// Writes a tensor whose bytes are at `data`: source number `source` of the node, or
// GGS_DUMP_OUTPUT. One thread at a time.
void ggs_values_dump(struct ggs_slot * slot, uint32_t node, unsigned source, const struct abi_tensor * tensor,
                     const void * data);
// Bytes of a tensor in memory, strides included; 0 if unknown.
size_t ggs_values_bytes(const struct abi_tensor * tensor);
// True for weights, which are not dumped: the model's file has them.
bool ggs_values_is_weight(const struct abi_tensor * tensor);
