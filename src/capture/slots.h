// Slots and lanes: where the op runs of a graph run go.
//
//     ggs_slot_open     a graph run begins: it gets a slot, with a lane for each of its threads
//     ggs_slot_find     finds the index of a node in the run's graph, from the last one on
//     ggs_lane_begin    an op run begins: its unit is written
//     ggs_lane_end      it ends: the unit is completed in place, again at a later barrier
//     ggs_slot_values   what an op computed, in a lane of its own; ggs_slot_values_begin: in place
//     ggs_slot_close    all of its op runs are written
//
// One thread at a time writes to a lane. Nothing here locks, allocates or calls the kernel per op,
// and a killed process loses only what was in progress.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/graphs.h"
#include "capture/segment.h"
#include "preload/ggml-abi.h"
#include "trace/spool.h"

enum { GGS_SLOTS = 64, GGS_SLOT_LANES = 512 };

// Its thread writes to it with every op. The alignment keeps lanes from sharing a cache line, or a
// pair of lines that are fetched together.
struct ggs_slot_lane {
    _Alignas(128) struct ggs_segment segment;
    struct ggs_spool_op * next; // where the next unit goes
    struct ggs_spool_op * end;  // one unit always stays zero
    uint32_t              number, sequence;
    uint32_t              os_thread; // the newest thread of the lane
};

// The nodes of a slot's run. An array lives as long as the recording: a searching thread may read
// one that was replaced.
struct ggs_slot_nodes {
    struct ggs_slot_nodes *      older; // the smaller one that it replaced
    uint32_t                     capacity;
    _Atomic uint32_t             n;
    _Atomic(struct abi_tensor *) node[];
};

struct ggs_slot {
    _Atomic uint32_t                  number; // of the run; 0 if no thread may join
    _Atomic bool                      in_use;
    uint32_t                          newest; // the newest run that used it
    _Atomic uint32_t                  lost;   // op runs without room
    _Atomic(struct ggs_slot_nodes *)  nodes;
    const struct ggs_captured_graph * graph;
    _Atomic(void *)                   pool;    // the CPU's thread pool, NULL until known
    bool                              watched; // a CPU slot: barriers between its ops may be missed
    struct ggs_values_run *           values;  // of this run; NULL if values are not recorded
    struct ggs_slot_lane *            values_lane;
    struct ggs_slot_lane *            lanes[GGS_SLOT_LANES];
};

extern struct ggs_slot ggs_slots[GGS_SLOTS];
extern _Atomic int     ggs_slots_open; // if 0, no op belongs to any slot

// Acquires a slot for a graph run, with room in `lanes` lanes. NULL if there is no slot (errno
// EBUSY) or no room.
struct ggs_slot * ggs_slot_open(uint32_t run, const struct abi_graph * nodes, const struct ggs_captured_graph * graph,
                                void * pool, int lanes);
// Returns how many op runs were lost.
uint64_t ggs_slot_close(struct ggs_slot * slot);
uint32_t ggs_slot_number(const struct ggs_slot * slot); // UINT32_MAX for NULL
// Frees slots and lanes after a recording, when no thread uses them. In a forked child they are
// only forgotten.
void ggs_slots_reset(bool forked);
// Returns a lane of the slot with room for a run of its graph; NULL if there is none.
struct ggs_slot_lane * ggs_slot_provide(struct ggs_slot * slot, uint32_t lane);

// Writes the values of an op's output to the slot's lane of values, or of an input: `source` and
// `input` are as in struct ggs_spool_values. One thread at a time. False if there is no room.
bool ggs_slot_values(struct ggs_slot * slot, uint32_t node, unsigned source, bool input, uint64_t elements,
                     const struct ggs_spool_value * rows, uint32_t n_rows);

// The same in two steps: returns a unit whose rows, which follow it, several threads may fill, or
// NULL if there is no room. It counts when it ends, with `n_rows` rows or none. Other units may be
// written meanwhile.
struct ggs_spool_values * ggs_slot_values_begin(struct ggs_slot * slot, uint32_t node, unsigned source, bool input,
                                                uint64_t elements, uint32_t n_rows);
void                      ggs_slot_values_end(struct ggs_spool_values * unit, bool filled);

// The same for any unit with a payload whose head has the layout of struct ggs_spool_values. Sets
// the run.
bool ggs_slot_payload(struct ggs_slot * slot, const struct ggs_spool_values * head, const void * payload);
// The same for index data of a device's run, which has no other lanes.
bool ggs_slot_index(struct ggs_slot * slot, uint32_t node, unsigned source, const struct abi_tensor * tensor);

uint32_t ggs_slots_lanes(void); // number of lanes

// Returns the run that uses the slot if `node` is one of its nodes, and sets the node's *index;
// else 0. Safe on any thread at any time, even while another run acquires the slot.
uint32_t ggs_slot_search(struct ggs_slot * slot, const struct abi_tensor * node, uint32_t * index);

// The same for a thread of the run: the node's index, searched from `first` on.
enum { GGS_SLOT_NO_NODE = UINT32_MAX };
static inline uint32_t ggs_slot_find(const struct ggs_slot_nodes * nodes, const struct abi_tensor * node,
                                     uint32_t first) {
    uint32_t n = atomic_load_explicit(&nodes->n, memory_order_relaxed);
    for (uint32_t i = first; i < n; i++)
        if (atomic_load_explicit(&nodes->node[i], memory_order_relaxed) == node) return i;
    return GGS_SLOT_NO_NODE;
}

// The first four bytes of a unit are written at once: the type validates the rest.
typedef uint32_t __attribute__((may_alias)) ggs_lane_head;
enum { GGS_HEAD_FLAGS = 8, GGS_HEAD_NODE = 8, GGS_HEAD_SHIFT = 16, GGS_HEAD_STEP = 24 };
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && offsetof(struct ggs_spool_op, type) == 0 &&
                   8 * offsetof(struct ggs_spool_op, flags) == GGS_HEAD_FLAGS &&
                   8 * offsetof(struct ggs_spool_op, shift) == GGS_HEAD_SHIFT &&
                   8 * offsetof(struct ggs_spool_op, step) == GGS_HEAD_STEP &&
                   offsetof(struct ggs_spool_op, duration) == sizeof(ggs_lane_head),
               "a unit's head as shifts");
_Static_assert(offsetof(struct ggs_spool_at, run) == sizeof(ggs_lane_head) &&
                   GGS_SPOOL_MOST_NODES == 1 << (32 - GGS_HEAD_NODE),
               "the node takes what the type leaves");

// Begins an op `step` nodes after the previous one of the same run, at the time the previous one
// ended. `op` is the lane's next unit, which must be before its end. `fused`: the next node is
// computed together with it.
static inline void ggs_lane_begin(struct ggs_slot_lane * lane, struct ggs_spool_op * op, uint32_t step, bool fused) {
    lane->next     = op + 1;
    uint32_t flags = fused ? GGS_OP_RUN_FUSED : 0;
    __atomic_store_n((ggs_lane_head *) op, GGS_UNIT_OP | flags << GGS_HEAD_FLAGS | step << GGS_HEAD_STEP,
                     __ATOMIC_RELEASE);
}
// The same for any op: writes its run, node and begin too. NULL if the lane is full.
struct ggs_spool_op * ggs_lane_begin_at(struct ggs_slot_lane * lane, uint32_t run, uint32_t node, uint64_t begin,
                                        bool fused);

// Times in ticks, which may not exceed 32 bits.
static inline void ggs_lane_end(struct ggs_spool_op * op, uint32_t duration, uint32_t wait, uint32_t inner_wait) {
    op->duration   = duration;
    op->wait       = wait;
    op->inner_wait = inner_wait;
    __atomic_store_n(&op->flags, op->flags | GGS_OP_RUN_ENDED, __ATOMIC_RELEASE);
}
// The same for times of any length. `flags` are added to the unit's; GGS_OP_RUN_WAIT_UNSEEN is
// cleared unless it is among them.
void ggs_lane_end_at(struct ggs_spool_op * op, uint64_t duration, uint64_t wait, uint64_t inner_wait, unsigned flags);

// Copies the values of a small tensor that selects the rows or experts of `node`. Types other than
// f32, i32 and i64 are skipped.
void ggs_lane_index(struct ggs_slot_lane * lane, uint32_t run, uint32_t node, unsigned source,
                    const struct abi_tensor * tensor);
// Makes the calling thread the lane's writer.
void ggs_lane_thread(struct ggs_slot_lane * lane, uint32_t run, uint32_t os_thread);
