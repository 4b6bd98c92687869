// The values of one graph run while it is computed: its plan, and memory to sum in. Used by the
// CPU's way (values.c) and by that of devices (device-values.c).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/slots.h"
#include "capture/values/kernel.h"
#include "capture/values/plan.h"

// One per slot, kept for its next run.
struct ggs_values_run {
    struct ggs_values_plan * plan;
    struct ggs_values_sum *  pieces; // of an output with few rows, by row and place
    struct ggs_spool_value * rows;
    uint32_t *               outputs; // index in the batch of each token whose output is wanted
    char *                   host[3]; // copies of what lies on a device: rows, their indices, an input
    size_t                   host_capacity[3];
    uint32_t                 pieces_capacity, rows_capacity, outputs_capacity;
    uint32_t                 n_outputs;
    bool                     dumped;  // the pending node's inputs: its output is to be kept, too
    uint32_t                 pending; // node that thread 0 computes, or computed last
};

// Makes room for a run of the graph in its slot. NULL if nothing of it is to be read, or without
// memory. `number` counts the graphs that the program had computed: only every N-th may be wanted.
struct ggs_values_run * ggs_values_run_begin(struct ggs_slot * slot, const struct abi_graph * graph,
                                             const struct ggs_captured_graph * known, uint64_t number);
// `ids` (NULL: not known) names the tokens whose outputs are wanted, in the order of rows.
void ggs_values_run_outputs(struct ggs_values_run * run, const void * ids);

// Sums the share of thread `ith` of `nth` in the output of a node, which is in the host's memory.
void ggs_values_run_read(struct ggs_values_run * run, uint32_t index, const struct abi_tensor * tensor, uint32_t ith,
                         uint32_t nth);
// Writes it to the spool, when all threads have read; one of them.
void ggs_values_run_write(struct ggs_slot * slot, struct ggs_values_run * run, uint32_t index, uint32_t nth);
