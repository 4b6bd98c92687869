// Op runs of the CPU: which run, node and thread an op belongs to, and when it ended.
//
// Every thread walks a graph's nodes in order, so a thread-local cursor finds the node; a thread that computes for a graph finds its slot
// once. An op begins when its thread leaves the barrier behind the op before, of which the clock was read: what the engine does in
// between, 20 to 50 ns, belongs to the op that it does it for. An op's unit is written when it begins and completed at each barrier until the next
// op begins.
//
// What happens with every op stands here, to become part of the hooks; what is rare stands in ops.c, so that nothing is saved and
// restored for it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/slots.h"

// Of the calling thread: what is needed of the slot and its graph is kept here for as long as the run lasts.
struct ggs_op_state {
    _Alignas(64) struct ggs_spool_op * op; // under way, or ended and not yet followed by another; NULL for none
    uint64_t          at; // when it began, or its last barrier so far was left; 0: the next op begins at another time
    struct ggs_slot * slot;
    uint32_t          run;    // that the slot was used for when this thread attached
    uint32_t          rare;   // enum ggs_op_rare: 0 if all of this is known and as usual
    uint32_t          cursor; // index of the next node
    uint32_t          usual;  // nodes below this are not the last that are computed
    struct ggs_slot_lane *        lane;
    const struct ggs_slot_nodes * nodes;
    const uint8_t *               copies;
    // rarely used
    uint64_t          begin;                  // of an op whose `at` is not known any more
    uint64_t          tail_enter, tail_leave; // the last barrier of an op that two close, if it has had two
    uint32_t          paired;                 // from this node on, two barriers close an op
    struct ggs_slot * own;                    // that this thread opened: thread 0 needs no search
    struct ggs_op_ends {
        uint32_t ended, followed;
    } ends;
};
extern _Thread_local struct ggs_op_state ggs_op_self;

// What the hooks' short ways are not for. All but the first stand for the op under way alone, behind which the next one begins anew.
enum ggs_op_rare {
    GGS_OP_UNUSUAL = 1,  // set by the hooks, for as long as the run lasts
    GGS_OP_NONE    = 2,  // there is no op
    GGS_OP_ALONE   = 4,  // it was too long, or it is not known whether the engine's barrier is seen
    GGS_OP_PAIRED  = 8,  // two barriers close it
    GGS_OP_DONE    = 16, // ggs_op_ended was called for it, and no barrier has followed
    GGS_OP_BARRIER = 32, // times its barriers so far, if two close it
};

// The calling thread opened the slot, or closed it (NULL): as thread 0 of the run it needs no search.
void ggs_op_own(struct ggs_slot * slot);

// An op begins that is not recorded: barriers from now on do not end the one before it.
static inline void ggs_op_forget(void) {
    ggs_op_self.op   = NULL;
    ggs_op_self.at   = 0;
    ggs_op_self.rare = GGS_OP_NONE;
}

// Was the barrier behind the op left, which is there and has its own time?
static inline bool ggs_op_follows(void) {
    return (ggs_op_self.op->flags & GGS_OP_RUN_ENDED) != 0;
}

void ggs_op_copy_indices(const struct abi_params * params, const struct abi_tensor * node, uint32_t index);

// The calling thread begins to compute a node. `fused`: together with the one that follows it. False if nothing was done, because this op
// does not simply follow on the one before: then it begins anew.
static inline bool ggs_op_begin_next(const struct abi_params * params, struct abi_tensor * node, bool fused) {
    struct ggs_op_state * self  = &ggs_op_self;
    uint32_t              first = self->cursor, usual = self->usual, index = first;
    if (__builtin_expect(self->rare > GGS_OP_UNUSUAL, 0) || __builtin_expect(!ggs_op_follows(), 0) ||
        __builtin_expect(atomic_load_explicit(&self->slot->number, memory_order_relaxed) != self->run, 0))
        return false;
    const struct ggs_slot_nodes * nodes = self->nodes;
    for (;; index++) {
        if (__builtin_expect(index >= usual, 0)) return false;
        if (atomic_load_explicit(&nodes->node[index], memory_order_relaxed) == node) break;
    }
    struct ggs_slot_lane * lane = self->lane;
    struct ggs_spool_op *  op   = lane->next;
    uint32_t               step = index + 1 - first;
    if (__builtin_expect(step > GGS_SPOOL_MOST_STEP, 0) || __builtin_expect(op >= lane->end, 0)) return false;
    ggs_lane_begin(lane, op, step, fused);
    self->op     = op;
    self->cursor = index + 1;
    if (__builtin_expect(self->copies[index] != 0, 0)) ggs_op_copy_indices(params, node, index);
    return true;
}
void ggs_op_begin_anew(const struct abi_params * params, struct abi_tensor * node, bool fused);

void ggs_op_mark_extra(void); // the op under way was computed by an extra buffer type

// Around a barrier: true if an op is under way that wants to know.
static inline bool ggs_op_in_flight(void) {
    return ggs_op_self.op != NULL;
}
// The op that the calling thread is at; run 0 if it is not known.
void ggs_op_current(uint32_t * run, uint32_t * node);

void ggs_op_barrier_rare(uint64_t enter, uint64_t leave);

// The last barrier before the next begin closes an op; earlier ones lie inside it. `rare`: of the op.
static inline void ggs_op_barrier(uint64_t enter, uint64_t leave, uint32_t rare) {
    struct ggs_op_state * self = &ggs_op_self;
    struct ggs_spool_op * op   = self->op;
    uint64_t              wait = leave - enter, inner = op->wait, duration = enter - self->at + inner + op->duration;
    if (rare > GGS_OP_UNUSUAL || __builtin_expect((duration | wait) > UINT32_MAX, 0)) {
        ggs_op_barrier_rare(enter, leave);
        return;
    }
    self->at = leave;
    ggs_lane_end(op, (uint32_t) duration, (uint32_t) wait, op->inner_wait + (uint32_t) inner);
}

// The calling thread has done its share of the op under way: if the engine's barrier is not seen, this is the op's end. A barrier
// that is seen afterwards ends it instead.
void ggs_op_ended(void);

// Of the run that the calling thread opened: how often ggs_op_ended was called, and how often a barrier followed it.
struct ggs_op_ends ggs_op_ends(void);
