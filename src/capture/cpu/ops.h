// Op runs of the CPU: which run, node and thread an op belongs to, and when it ended.
//
// Every thread walks a graph's nodes in order, so a thread-local cursor finds the node; a thread that computes for a graph finds its slot
// once. An op's unit is written when it begins and completed at each barrier until the next op begins.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/slots.h"

// The calling thread opened the slot, or closed it (NULL): as thread 0 of the run it needs no search.
void ggs_op_own(struct ggs_slot * slot);

// Around the computing of one node on the calling thread. `absorbed`: nodes computed together with it.
void ggs_op_begin(const struct abi_params * params, struct abi_tensor * node, unsigned absorbed);
void ggs_op_mark_extra(void); // the op under way was computed by an extra buffer type

// On the calling thread, or ended and not yet followed by another.
extern _Thread_local struct ggs_spool_op * ggs_op_under_way;

// Around a barrier: true if an op is under way that wants to know.
static inline bool ggs_op_in_flight(void) {
    return ggs_op_under_way != NULL;
}
// An op begins that is not recorded: barriers from now on do not end the one before it.
void ggs_op_forget(void);
// The op that the calling thread is at; run 0 if it is not known.
void ggs_op_current(uint32_t * run, uint32_t * node);
void ggs_op_barrier(uint64_t enter, uint64_t leave);

// The calling thread has done its share of the op under way: if the engine's barrier is not seen, this is the op's end. A barrier
// that is seen afterwards ends it instead.
void ggs_op_ended(void);

// Of the run that the calling thread opened: how often ggs_op_ended was called, and how often a barrier followed it.
struct ggs_op_ends {
    uint32_t ended, followed;
};
struct ggs_op_ends ggs_op_ends(void);
