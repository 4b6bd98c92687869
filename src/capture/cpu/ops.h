// Op runs of the CPU: which run, node and thread an op belongs to, and when it ended.
//
// Every thread walks a graph's nodes in order, so a thread-local cursor finds the node; a thread
// that computes for a graph finds its slot once. An op begins when its thread leaves the barrier
// behind the op before, of which the clock was read: what the engine does in between, 20 to 50 ns,
// belongs to the op that it does it for. An op's unit is written when it begins and completed at
// each barrier until the next op begins.
//
// What happens with every op is inline here and becomes part of the hooks. What is rare is in
// ops.c, so that the hooks save and restore no registers for it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/slots.h"

// What the hooks' short way does not handle. All but GGS_OP_HOOKS_DIFFER are about the op under
// way, behind which the next one begins at a time of its own.
enum ggs_op_unusual {
    GGS_OP_HOOKS_DIFFER = 1,  // set by the hooks, for as long as the run lasts
    GGS_OP_NONE         = 2,  // there is no op
    GGS_OP_ALONE        = 4,  // it was too long, or it is not known whether the engine's barrier is seen
    GGS_OP_PAIRED       = 8,  // two barriers close it
    GGS_OP_ENDED        = 16, // ggs_op_ended was called for it, and no barrier has followed
};

// Of the calling thread. What is needed of the slot and its graph is copied for as long as the run
// lasts.
struct ggs_op_state {
    _Alignas(64) struct ggs_spool_op * op; // under way, or ended and not yet followed by another; NULL for none
    uint64_t          at; // when it began, or its last barrier so far was left; 0: the next op begins at another time
    struct ggs_slot * slot;
    uint32_t          run;     // that the slot was used for when this thread attached
    uint32_t          unusual; // enum ggs_op_unusual; 0: the short way is right
    uint32_t          cursor;  // index of the next node
    uint32_t          usual;   // nodes below this are not the last that are computed
    struct ggs_slot_lane *        lane;
    const struct ggs_slot_nodes * nodes;
    const uint8_t *               copies;
    // rarely used
    uint64_t          begin;                  // of an op whose `at` is 0
    uint32_t          barriers;               // GGS_OP_PAIRED: that it has had so far
    uint64_t          tail_enter, tail_leave; // GGS_OP_PAIRED: the last of them, if there were two
    uint32_t          paired;                 // from this node on, two barriers close an op
    struct ggs_slot * opened;                 // by this thread: as thread 0 of the run it needs no search
    struct ggs_op_ends {
        uint32_t ended, followed;
    } ends;
    uint32_t              inside; // 1: it is between ggs_op_enter and ggs_op_leave
    bool                  listed; // in the list below
    struct ggs_op_state * next;
};
extern _Thread_local struct ggs_op_state ggs_op_self;

// Around what a thread does to slots and lanes outside of a run that it takes part in: leaving its
// last barrier, and looking for the run that an op belongs to. A recording that ends while the
// program runs on waits for the ends of its runs and until no thread is inside here, then takes
// away the memory that it was written to. Costs two stores; their order is the concern of the one
// that waits (membarrier).
static inline void ggs_op_enter(void) {
    __atomic_store_n(&ggs_op_self.inside, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
static inline void ggs_op_leave(void) {
    __atomic_store_n(&ggs_op_self.inside, 0, __ATOMIC_RELEASE);
}

// From now on threads are listed when they compute for a recorded graph: before a recording that
// will end before the program.
void ggs_ops_list_threads(void);
// The window is closed and all recorded runs have ended: waits until no thread is inside, and makes
// all of them forget what they recorded. False if a thread stays inside for longer than
// `patience_ns`.
bool ggs_ops_release_threads(uint64_t patience_ns);
// In the child of a fork: there is no thread but this one.
void ggs_ops_forget_threads(void);

// The calling thread has opened the slot, or closed it (NULL).
void ggs_op_set_opened(struct ggs_slot * slot);

// The op that begins is not recorded: barriers from here on do not end the one before it.
static inline void ggs_op_clear(void) {
    ggs_op_self.op      = NULL;
    ggs_op_self.at      = 0;
    ggs_op_self.unusual = GGS_OP_NONE;
}

// True if the thread has left a barrier behind its op: the next one begins at `at`.
static inline bool ggs_op_has_ended(void) {
    return (ggs_op_self.op->flags & GGS_OP_RUN_ENDED) != 0;
}

void ggs_op_copy_indices(const struct abi_params * params, const struct abi_tensor * node, uint32_t index);

// The calling thread begins to compute a node. `fused`: together with the one that follows it.
// False if nothing was done, because the op does not simply follow on the one before; then
// ggs_op_begin_anew must be called.
static inline bool ggs_op_begin_next(const struct abi_params * params, struct abi_tensor * node, bool fused) {
    struct ggs_op_state * self  = &ggs_op_self;
    uint32_t              first = self->cursor, usual = self->usual, index = first;
    if (__builtin_expect(self->unusual > GGS_OP_HOOKS_DIFFER, 0) || __builtin_expect(!ggs_op_has_ended(), 0) ||
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

// True if barriers of this thread belong to an op that is recorded.
static inline bool ggs_op_in_flight(void) {
    return ggs_op_self.op != NULL;
}
// The op that the calling thread is at; run 0 if it is not known.
void ggs_op_current(uint32_t * run, uint32_t * node);

void ggs_op_barrier_unusual(uint64_t enter, uint64_t leave);

// The last barrier before the next begin closes an op; earlier ones lie inside it. `unusual`: of
// the op.
static inline bool ggs_op_barrier_usual(uint64_t enter, uint64_t leave, uint32_t unusual) {
    struct ggs_op_state * self = &ggs_op_self;
    struct ggs_spool_op * op   = self->op;
    uint64_t              wait = leave - enter, inner = op->wait, duration = enter - self->at + inner + op->duration;
    if (unusual > GGS_OP_HOOKS_DIFFER || __builtin_expect((duration | wait) > UINT32_MAX, 0)) return false;
    self->at = leave;
    ggs_lane_end(op, (uint32_t) duration, (uint32_t) wait, op->inner_wait + (uint32_t) inner);
    return true;
}
static inline void ggs_op_barrier(uint64_t enter, uint64_t leave, uint32_t unusual) {
    if (!ggs_op_barrier_usual(enter, leave, unusual)) ggs_op_barrier_unusual(enter, leave);
}

// The calling thread has done its share of the op under way: if the engine's barrier is not seen,
// this is the op's end. A barrier that is seen afterwards ends it instead.
void ggs_op_ended(void);

// Of the run that the calling thread opened: how often ggs_op_ended was called, and how often a
// barrier followed it.
struct ggs_op_ends ggs_op_ends(void);
