// The values of one graph run in progress: its plan, and memory for sums. Shared by the CPU
// (values.c) and devices (device-values.c).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/slots.h"
#include "capture/values/plan.h"
#include "capture/values/weights.h"
#include "trace/values/row-summary.h"

// What the threads have read of one node's output.
struct ggs_values_read {
    struct ggs_spool_values * unit;   // where its rows go; NULL for none
    struct ggs_values_sum *   pieces; // of an output with few rows, by row and piece
    uint32_t                  pieces_capacity;
    uint32_t                  node, threads;
    bool                      filled;
};

// One per slot, reused for its next run.
struct ggs_values_run {
    struct ggs_values_plan *  plan;
    struct ggs_values_read    read[2];  // one is written while the other is read
    unsigned                  expected; // the set of `pending`
    uint32_t *                outputs;  // index in the batch of each token whose output is wanted
    char *                    host[3];  // copies of device memory: rows, indices, an input
    size_t                    host_capacity[3];
    uint32_t                  n_outputs, outputs_capacity;
    struct ggs_values_weights weights; // to be read by the run's threads
    bool                      dumped;  // the pending node's inputs are dumped; its output follows
    uint32_t                  pending; // node that thread 0 computes, or computed last
};

// Prepares a run of the graph in its slot. NULL if nothing of it is read, or out of memory.
// `number` counts the program's graph runs: only every N-th may be wanted.
struct ggs_values_run * ggs_values_run_begin(struct ggs_slot * slot, const struct abi_graph * graph,
                                             const struct ggs_captured_graph * known, uint64_t number);
// `ids` (NULL if unknown) names the tokens whose outputs are wanted, in the order of rows.
void ggs_values_run_outputs(struct ggs_values_run * run, const void * ids);

// Makes room in the spool for a node's output, which the threads will read into `read[set]`. Called
// by thread 0.
void ggs_values_run_expect(struct ggs_slot * slot, struct ggs_values_run * run, unsigned set, uint32_t index);
// Sums thread `ith`'s share of `nth` of the expected output, which is in host memory.
void ggs_values_run_read(struct ggs_values_run * run, unsigned set, const struct abi_tensor * tensor, uint32_t ith,
                         uint32_t nth);
// Ends what was expected of `read[set]`, if anything: its rows count if they were read. Called by
// thread 0 when all have finished reading.
void ggs_values_run_write(struct ggs_values_run * run, unsigned set);
