#include "capture/cpu/ops.h"

#include "base/system/ticks.h"
#include "capture/losses.h"
#include "capture/thread.h"
#include "capture/window.h"

// Used with every op, in few cache lines: what is needed of the slot and its graph is kept here for as long as the run lasts.
struct thread_state {
    _Alignas(64) struct ggs_slot * slot;
    uint32_t                      run;    // that the slot was used for when this thread attached
    uint32_t                      cursor; // index of the next node
    struct ggs_slot_lane *        lane;
    const struct ggs_slot_nodes * nodes;
    const uint8_t *               copies;
    uint32_t                      barriers; // of the op so far
    uint32_t                      done;     // ggs_op_ended was called for the op, and no barrier has followed
    uint32_t                      paired;   // from this node on, two barriers close an op
    uint64_t                      closing_enter, closing_leave; // the barrier that ends the op, as far as is known
    uint64_t                      inner_wait;
    uint64_t                      tail_enter, tail_leave; // a later one, if two close it
    struct ggs_slot *             own;                    // that this thread opened: thread 0 needs no search
    struct ggs_op_ends            ends;
};
enum { NO_NODE = GGS_SLOT_NO_NODE };
static _Thread_local struct thread_state self;
_Thread_local struct ggs_spool_op *      ggs_op_under_way;

void ggs_op_own(struct ggs_slot * slot) {
    self.own = slot;
    if (slot == NULL)
        ggs_op_under_way = NULL;
    else
        self.ends = (struct ggs_op_ends){0, 0};
}

// Which run does this op belong to? The one this thread opened; else the one of its pool; else, if the engine made a pool for the
// run, the one whose nodes hold this one.
static __attribute__((noinline, cold)) uint32_t attach(const struct abi_params * params,
                                                       const struct abi_tensor * node) {
    struct ggs_slot * found = NULL;
    uint32_t          index = 0, run = self.own == NULL ? 0 : ggs_slot_search(self.own, node, &index);
    if (run != 0) {
        found = self.own;
        if (params->ith == 0) atomic_store_explicit(&found->pool, params->threadpool, memory_order_relaxed);
    }
    for (unsigned pass = 0; pass < 2 && run == 0; pass++) {
        for (unsigned i = 0; i < GGS_SLOTS && run == 0; i++) {
            found       = &ggs_slots[i];
            void * pool = atomic_load_explicit(&found->pool, memory_order_relaxed);
            if (pool != params->threadpool && (pass == 0 || pool != NULL)) continue; // thread 0 may tell it meanwhile
            run = ggs_slot_search(found, node, &index);
        }
    }
    if (run == 0 || params->ith < 0 || params->ith >= GGS_SLOT_LANES) return NO_NODE;
    const struct ggs_known_graph * graph = found->graph;
    self.slot                            = found;
    self.run                             = run;
    self.nodes                           = atomic_load_explicit(&found->nodes, memory_order_relaxed);
    self.copies                          = graph->copies;
    // Nodes that are not computed follow the last one that is.
    self.paired = graph->last_executed + 1 < graph->n_nodes ? graph->last_executed : UINT32_MAX;
    self.lane   = found->lanes[params->ith];
    // more threads than the plan promised
    if (self.lane == NULL || self.lane->next == NULL) self.lane = ggs_slot_provide(found, (uint32_t) params->ith);
    if (self.lane == NULL) return NO_NODE;
    ggs_lane_thread(self.lane, run, ggs_thread_id());
    return index;
}

static __attribute__((noinline, cold)) void not_found(void) {
    // A run that is not recorded, beside one that is.
    if (atomic_load_explicit(&ggs_window_skipped, memory_order_relaxed) == 0) ggs_losses_count(GGS_LOSS_UNMATCHED, 1);
    self.slot        = NULL;
    ggs_op_under_way = NULL;
}

static __attribute__((noinline, cold)) void copy_indices(const struct abi_tensor * node, uint32_t index) {
    unsigned wanted = self.copies[index];
    for (unsigned s = 0; wanted >> s != 0; s++) {
        if ((wanted >> s & 1) != 0) ggs_lane_index(self.lane, self.run, index, s, node->src[s]);
    }
}

// What is rare stands in functions of its own, so that nothing is saved and restored for it.
void ggs_op_begin(const struct abi_params * params, struct abi_tensor * node, unsigned absorbed) {
    uint64_t          now   = ggs_ticks_now();
    struct ggs_slot * slot  = self.slot;
    uint32_t          index = NO_NODE;
    if (__builtin_expect(slot != NULL && atomic_load_explicit(&slot->number, memory_order_relaxed) == self.run, 1))
        index = ggs_slot_find(self.nodes, node, self.cursor);
    if (__builtin_expect(index == NO_NODE, 0)) {
        index = attach(params, node);
        if (index == NO_NODE) {
            not_found();
            return;
        }
    }
    struct ggs_spool_op * op = ggs_lane_begin(self.lane, self.run, index, now, absorbed);
    self.cursor              = index + 1;
    ggs_op_under_way         = op;
    if (__builtin_expect(op == NULL, 0)) {
        self.slot->lost++;
        return;
    }
    self.barriers   = 0;
    self.done       = 0;
    self.inner_wait = 0;
    if (__builtin_expect(self.copies[index] != 0, 0) && params->ith == 0) copy_indices(node, index);
}

void ggs_op_mark_extra(void) {
    if (ggs_op_under_way != NULL) ggs_op_under_way->flags |= GGS_OP_RUN_EXTRA;
}

void ggs_op_forget(void) {
    ggs_op_under_way = NULL;
}

void ggs_op_current(uint32_t * run, uint32_t * node) {
    *run  = ggs_op_under_way == NULL ? 0 : ggs_op_under_way->run;
    *node = ggs_op_under_way == NULL ? 0 : ggs_op_under_way->node;
}

static bool closed_by_two(const struct ggs_spool_op * op) {
    return op->node + op->count >= self.paired;
}

// The last barrier before the next begin closes an op; earlier ones lie inside it. If nodes that are not computed end the graph, two
// barriers follow the last op, and the first of the two counts.
void ggs_op_barrier(uint64_t enter, uint64_t leave) {
    struct ggs_spool_op * op    = ggs_op_under_way;
    uint64_t              inner = 0;
    if (self.barriers > 0) {
        inner = self.inner_wait;
        if (!closed_by_two(op)) {
            inner += self.closing_leave - self.closing_enter;
        } else {
            uint64_t tail_enter = self.tail_enter, tail_leave = self.tail_leave;
            self.tail_enter = enter, self.tail_leave = leave;
            if (self.barriers > 1) {
                inner += self.closing_leave - self.closing_enter;
                enter = tail_enter, leave = tail_leave;
            } else {
                enter = self.closing_enter, leave = self.closing_leave;
            }
        }
        self.inner_wait = inner;
    }
    self.closing_enter = enter, self.closing_leave = leave;
    self.barriers++;
    if (__builtin_expect(self.done != 0, 0)) {
        self.ends.followed++;
        self.done = 0;
    }
    ggs_lane_end(op, enter - op->begin, leave - enter, inner, 0);
}

void ggs_op_ended(void) {
    struct ggs_spool_op * op = ggs_op_under_way;
    if (op == NULL) return;
    uint64_t inner = self.inner_wait; // all barriers so far were inside
    if (self.barriers > 0) inner += self.closing_leave - self.closing_enter;
    if (self.barriers > 1 && closed_by_two(op)) inner += self.tail_leave - self.tail_enter;
    ggs_lane_end(op, ggs_ticks_now() - op->begin, 0, inner, GGS_OP_RUN_WAIT_UNSEEN);
    self.done = 1;
    self.ends.ended++;
}

struct ggs_op_ends ggs_op_ends(void) {
    return self.ends;
}
