// Slots and lanes: where the op runs of a graph run go. What every backend that is seen op by op uses:
//
//     ggs_slot_open       a graph run begins; it gets a slot, with a lane for each of its threads or queues
//     ggs_slot_find       which node is this? An index in the run's graph, found by walking on from the last one
//     ggs_lane_begin      an op run begins: its unit is written, behind one that says where it stands if it does not follow from the op before
//     ggs_lane_end        it ends: the unit is completed in place, again and again if a later end turns out to be the right one
//     ggs_slot_close      all of its op runs are told
//
// The CPU tells them as they happen (cpu/ops.c); a device whose times come later tells them when they are there, before it closes
// the slot. One thread at a time writes to a lane. Nothing here locks, allocates or calls the kernel per op, and a killed process
// loses nothing but what was under way.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/ggml-abi.h"
#include "capture/graphs.h"
#include "capture/segment.h"
#include "trace/spool.h"

enum { GGS_SLOTS = 64, GGS_SLOT_LANES = 512 };

// Written with every op by its thread: no other thread's lane may share its cache line, nor the one beside, which is fetched with it.
struct ggs_slot_lane {
    _Alignas(128) struct ggs_segment segment;
    struct ggs_spool_op * next; // where the next unit goes
    struct ggs_spool_op * end;  // one unit is always left zero
    uint32_t              number, sequence;
    uint32_t              os_thread; // as last told in the lane
};

// The nodes of a slot's run. An array is never freed: a thread that searches may look at it a moment too late.
struct ggs_slot_nodes {
    struct ggs_slot_nodes *      older; // the smaller one that it took the place of
    uint32_t                     capacity;
    _Atomic uint32_t             n;
    _Atomic(struct abi_tensor *) node[];
};

struct ggs_slot {
    _Atomic uint32_t                 number; // of the run, 0: no thread may attach
    _Atomic bool                     taken;
    uint32_t                         newest; // run that it was taken for
    _Atomic uint32_t                 lost;   // op runs for which there was no room
    _Atomic(struct ggs_slot_nodes *) nodes;
    const struct ggs_known_graph *   graph;
    _Atomic(void *)                  pool;    // the CPU's thread pool, NULL until known
    bool                             watched; // the CPU: barriers between its ops may not be seen
    struct ggs_slot_lane *           lanes[GGS_SLOT_LANES];
};

extern struct ggs_slot ggs_slots[GGS_SLOTS];
extern _Atomic int     ggs_slots_taken; // 0: no op belongs to any

// Takes a slot for a graph run and makes room in `lanes` lanes. NULL if there is no slot (errno EBUSY) or no room.
struct ggs_slot * ggs_slot_open(uint32_t run, const struct abi_graph * nodes, const struct ggs_known_graph * graph,
                                void * pool, int lanes);
// Returns how many op runs could not be kept.
uint64_t ggs_slot_close(struct ggs_slot * slot);
uint32_t ggs_slot_number(const struct ggs_slot * slot); // UINT32_MAX for NULL
// A lane of the slot, with room for a run of its graph; NULL if there is none.
struct ggs_slot_lane * ggs_slot_provide(struct ggs_slot * slot, uint32_t lane);

// Makes the next `n` segments of every lane ahead.
void ggs_slots_prepare(unsigned n);

// The run that the slot is used for, if `node` is one of its nodes, and *index; else 0. Any thread may ask at any time, also while the
// slot is given to another run.
uint32_t ggs_slot_search(struct ggs_slot * slot, const struct abi_tensor * node, uint32_t * index);

// The same for a thread that takes part in the run: the node's index, from `first` on.
enum { GGS_SLOT_NO_NODE = UINT32_MAX };
static inline uint32_t ggs_slot_find(const struct ggs_slot_nodes * nodes, const struct abi_tensor * node,
                                     uint32_t first) {
    uint32_t n = atomic_load_explicit(&nodes->n, memory_order_relaxed);
    for (uint32_t i = first; i < n; i++)
        if (atomic_load_explicit(&nodes->node[i], memory_order_relaxed) == node) return i;
    return GGS_SLOT_NO_NODE;
}

// The first four bytes of a unit are written at once: its type makes the rest valid.
typedef uint32_t __attribute__((may_alias)) ggs_lane_head;
enum { GGS_HEAD_FLAGS = 8, GGS_HEAD_SHIFT = 16, GGS_HEAD_STEP = 24 };

// An op begins when the one before it in the lane was done, `step` nodes behind it in the same run. `op` is the lane's next unit, which must be
// before its end. `fused`: the node that follows is computed together with it.
static inline void ggs_lane_begin(struct ggs_slot_lane * lane, struct ggs_spool_op * op, uint32_t step, bool fused) {
    lane->next     = op + 1;
    uint32_t flags = fused ? GGS_OP_RUN_FUSED : 0;
    __atomic_store_n((ggs_lane_head *) op, GGS_UNIT_OP | flags << GGS_HEAD_FLAGS | step << GGS_HEAD_STEP,
                     __ATOMIC_RELEASE);
}
// The same for an op of which all that must be said: the first of a run, or one whose begin is another than that. NULL if the lane has no more
// room.
struct ggs_spool_op * ggs_lane_begin_at(struct ggs_slot_lane * lane, uint32_t run, uint32_t node, uint64_t begin,
                                        bool fused);

// Times in ticks, which may not exceed 32 bits.
static inline void ggs_lane_end(struct ggs_spool_op * op, uint32_t duration, uint32_t wait, uint32_t inner_wait) {
    op->duration   = duration;
    op->wait       = wait;
    op->inner_wait = inner_wait;
    __atomic_store_n(&op->flags, op->flags | GGS_OP_RUN_ENDED, __ATOMIC_RELEASE);
}
// The same without limits. `flags` are added to those that the unit has; GGS_OP_RUN_WAIT_UNSEEN is taken away unless it is among them.
void ggs_lane_end_at(struct ggs_spool_op * op, uint64_t duration, uint64_t wait, uint64_t inner_wait, unsigned flags);

// Copies the values of a small tensor that decides which rows or experts `node` takes. Types that are no indices are left out.
void ggs_lane_index(struct ggs_slot_lane * lane, uint32_t run, uint32_t node, unsigned source,
                    const struct abi_tensor * tensor);
// The calling thread writes to the lane from here on.
void ggs_lane_thread(struct ggs_slot_lane * lane, uint32_t run, uint32_t os_thread);
