// Leafs, which a graph reads and does not compute: weights once per program, inputs once per graph
// run.
//
// A weight is looked for when the first graph that uses it begins. If its bytes lie in a mapped
// file, only their place is noted: sealing reads them there. Otherwise it is read from host or
// device memory; the threads that compute the graph share the weights in host memory among them.
// The elements of a repacked weight (CPU, AMX) cannot be read: what the program copies there
// counts, and mostly lies in the model's file.
#pragma once

#include "capture/slots.h"
#include "capture/values/values-run.h"

// Copies a tensor into host memory, into `copy`. Returns false if that is impossible.
typedef bool (*ggs_values_fetch)(struct ggs_values_run * run, const struct abi_tensor * tensor,
                                 struct abi_tensor * copy);

// For a whole tensor that the program copies from `data`.
void ggs_values_weight_set(const struct abi_tensor * tensor, const void * data, size_t offset, size_t size);

// Writes the values of the graph's inputs, and of weights that no earlier graph used. Called before
// its ops are computed. `fetch` is NULL for the CPU, whose weights in host memory are left to the
// run's threads (run->weights).
void ggs_values_leafs(struct ggs_slot * slot, struct ggs_values_run * run, const struct abi_graph * graph,
                      ggs_values_fetch fetch);

// Writes the weights that the threads have read (ggs_values_weights_read), and leaves none. Called
// by one thread when all have finished reading.
void ggs_values_leafs_end(struct ggs_slot * slot, struct ggs_values_run * run);
