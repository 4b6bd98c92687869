// Values of ops (record --values): the contents of the tensors that a graph run computes.
//
// On the CPU every thread begins every op. When it begins one, all threads have left the barrier
// after the previous op, whatever barriers that op has inside, so the previous output is complete
// and unchanging. The threads share the reading of it. If the next op writes to the same memory
// (one op in eight of a llama model), one more barrier keeps it waiting. Rows are made in the
// spool: thread 0 makes room when it begins the op that computes them, and ends the unit when it
// begins the op after the one in which they are read: all threads have finished reading by then. So
// two units are open at a time, and two sets of sums alternate.
//
// All threads of a run must take the same decision about that barrier. So nothing here depends on
// whether recording goes on, or on the lanes of op runs: only on the run's slot and its nodes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/graphs.h"
#include "capture/slots.h"
#include "preload/ggml-abi.h"

extern bool ggs_values_wanted;
extern bool ggs_values_unfused;    // devices: every node is computed and read alone
extern bool ggs_values_no_weights; // weights are not read: that would touch their pages

// Reads the settings: GGSCOPE_VALUES (a regular expression on "OP:tensor", empty for all),
// GGSCOPE_VALUES_EVERY, GGSCOPE_VALUES_UNFUSED, GGSCOPE_VALUES_NO_WEIGHTS. Called once, before any
// hook.
void ggs_values_configure(void);

// Surround a graph run of the CPU on the thread that opened its slot. `number` counts the program's
// graph runs.
void ggs_values_begin(struct ggs_slot * slot, const struct abi_graph * graph, const struct ggs_captured_graph * known,
                      uint64_t number);
void ggs_values_end(struct ggs_slot * slot);

// For a thread that is about to compute `first`, whose result will be in `output`: a later node if
// ops are fused. Reads the previous op's output; `barrier` is the engine's. True if that took time
// that belongs to no op.
bool ggs_values_op(const struct abi_params * params, const struct abi_tensor * first, const struct abi_tensor * output,
                   void (*barrier)(void * pool));
