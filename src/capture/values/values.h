// Values of ops (record --values): what is in the tensors that a graph run computes.
//
// On the CPU every thread begins every op. When it begins one, all threads have left the barrier
// behind the op before, whatever barriers that had inside: its output is complete and nobody
// writes. There the threads share the reading of it, and one more barrier keeps the next op from
// overwriting what is still read. Thread 0 writes the rows to the spool while it is in the next
// op's begin already; what it writes from is not touched again before the next barrier of the
// engine, which needs thread 0.
//
// All threads of a run must decide alike whether they meet at that barrier. So nothing here depends
// on whether recording goes on, nor on the lanes of op runs: only on the run's slot and its nodes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/graphs.h"
#include "capture/slots.h"
#include "preload/ggml-abi.h"

extern bool ggs_values_wanted;
extern bool ggs_values_unfused;    // devices: every node is computed and read by itself
extern bool ggs_values_no_weights; // they are left alone: reading them would touch what the program does not

// Reads the settings: GGSCOPE_VALUES (a regular expression on "OP:tensor", empty for all),
// GGSCOPE_VALUES_EVERY, GGSCOPE_VALUES_UNFUSED, GGSCOPE_VALUES_NO_WEIGHTS. Once, before any hook.
void ggs_values_configure(void);

// Around a graph run of the CPU, on the thread that opened its slot. `number` counts the graphs
// that the program had computed.
void ggs_values_begin(struct ggs_slot * slot, const struct abi_graph * graph, const struct ggs_captured_graph * known,
                      uint64_t number);
void ggs_values_end(struct ggs_slot * slot);

// The calling thread is about to compute `first`, whose result will be in `output`: another node if
// ops are fused, which follows it. Reads what the op before has computed; `barrier` is the
// engine's. True if that took time that belongs to no op.
bool ggs_values_op(const struct abi_params * params, const struct abi_tensor * first, const struct abi_tensor * output,
                   void (*barrier)(void * pool));
