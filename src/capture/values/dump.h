// Whole tensors of ops (record --values-dump): what they read and what they write.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/slots.h"

// A tensor whose bytes are at `data`, `source` of the node's or GGS_DUMP_OUTPUT. One thread at a
// time.
void ggs_values_dump(struct ggs_slot * slot, uint32_t node, unsigned source, const struct abi_tensor * tensor,
                     const void * data);
// Bytes of a tensor as it lies in memory, strides included; 0 if that cannot be known.
size_t ggs_values_bytes(const struct abi_tensor * tensor);
// Weights stay where they are: in the model's file.
bool ggs_values_is_weight(const struct abi_tensor * tensor);
