// Weights that the threads of a graph run read together (leafs.h).
//
// The threads take chunks of a few pieces from all weights, so the largest weight does not keep one
// of them longer than the others. Pieces of a row are added in their order (row-summary.h): chunks
// that finish early wait in a list, no thread waits for another one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/values/plan.h"
#include "preload/ggml-abi.h"
#include "trace/spool.h"

// What was read of a weight or an input; or where sealing finds a weight in a file: `in_file` bytes
// of struct ggs_spool_weight_file and path take the place of the rows.
struct ggs_values_leaf_rows {
    uint32_t               n_rows, in_file;
    int                    type;
    uint64_t               elements;
    struct ggs_spool_value rows[];
};

// Divides a weight into one row, or one per expert. Returns false if its elements cannot be read.
bool ggs_values_weight_divide(const struct abi_tensor * t, struct ggs_values_node * out);
// Sums a whole tensor in host memory. The caller frees the result. Returns NULL if its elements
// cannot be read or memory is exhausted.
struct ggs_values_leaf_rows * ggs_values_weight_sum(const struct abi_tensor * t);

// Finds the file that has the weight's elements, at `data`. The caller frees the result. Returns
// NULL if there is none, or sealing cannot convert the type as the engine does.
struct ggs_values_leaf_rows * ggs_values_weight_in_file(const struct abi_tensor * t, const void * data);

struct ggs_values_weight;

struct ggs_values_weights {
    struct ggs_values_weight ** list;
    uint32_t                    n, capacity;
    uint64_t                    chunks; // of all
    uint64_t                    next;   // not yet taken by a thread
};

// Leaves a weight to the run's threads. Returns false if it cannot be read or memory is exhausted.
bool ggs_values_weights_leave(struct ggs_values_weights * weights, const struct ggs_values_leaf * leaf,
                              const struct abi_tensor * t);
// Reads chunks that no other thread has taken, until none is left.
void ggs_values_weights_read(struct ggs_values_weights * weights);
// Gives each weight to `write`, with its rows or NULL, which `write` frees, and leaves none. Called
// by one thread when all have finished reading.
void ggs_values_weights_end(struct ggs_values_weights * weights, void * context,
                            void (*write)(void * context, const struct ggs_values_leaf * leaf,
                                          struct ggs_values_leaf_rows * rows));
