// What a graph reads and does not compute: its weights, once per program, and its inputs, once per
// graph run.
//
// A weight in the host's memory is read when the first graph that has it begins, one on a device
// then, too. What the CPU keeps in an order of its own (repacked, AMX) has no elements that could
// be read: it is read when the program copies it there, from the model's file.
#pragma once

#include "capture/slots.h"
#include "capture/values/run.h"

// The tensor with its elements in the host's memory, in `copy`. False if that cannot be had.
typedef bool (*ggs_values_fetch)(struct ggs_values_run * run, const struct abi_tensor * tensor,
                                 struct abi_tensor * copy);

// The program copies a whole tensor from `data`.
void ggs_values_weight_set(const struct abi_tensor * tensor, const void * data, size_t offset, size_t size);

// Writes the values of the graph's inputs, and of weights that no graph had. Before its ops are
// computed. `fetch` NULL: it is computed by the CPU.
void ggs_values_leafs(struct ggs_slot * slot, struct ggs_values_run * run, const struct abi_graph * graph,
                      ggs_values_fetch fetch);
