#include "capture/cpu/ops.h"

#include "base/system/ticks.h"
#include "capture/losses.h"
#include "capture/thread.h"
#include "capture/window.h"

struct thread_state {
    struct ggs_slot *      slot;
    uint32_t               run;    // that the slot was used for when this thread attached
    uint32_t               cursor; // index of the next node
    struct ggs_slot_lane * lane;
    struct ggs_spool_op *  op;           // under way, or ended and not yet followed by another
    struct ggs_slot *      own;          // that this thread opened: thread 0 needs no search
    bool                   closing_pair; // the op is the last one and two barriers will close it
    unsigned               barriers;
    uint64_t               closing_enter, closing_leave; // the barrier that ends the op, as far as is known
    uint64_t               tail_enter, tail_leave;       // a later one, if closing_pair
    uint64_t               inner_wait;
    bool                   done; // ggs_op_ended was called for the op, and no barrier has followed
    struct ggs_op_ends     ends;
};
static _Thread_local struct thread_state self;

void ggs_op_own(struct ggs_slot * slot) {
    self.own = slot;
    if (slot == NULL)
        self.op = NULL;
    else
        self.ends = (struct ggs_op_ends){0, 0};
}

// Which run does this op belong to? The one this thread opened; else the one of its pool; else, if the engine made a pool for the
// run, the one whose nodes hold this one.
static bool attach(const struct abi_params * params, const struct abi_tensor * node, uint32_t * index) {
    struct ggs_slot * found = NULL;
    uint32_t          run   = self.own == NULL ? 0 : ggs_slot_search(self.own, node, index);
    if (run != 0) {
        found = self.own;
        if (params->ith == 0) atomic_store_explicit(&found->pool, params->threadpool, memory_order_relaxed);
    }
    for (unsigned pass = 0; pass < 2 && run == 0; pass++) {
        for (unsigned i = 0; i < GGS_SLOTS && run == 0; i++) {
            found       = &ggs_slots[i];
            void * pool = atomic_load_explicit(&found->pool, memory_order_relaxed);
            if (pool != params->threadpool && (pass == 0 || pool != NULL)) continue; // thread 0 may tell it meanwhile
            run = ggs_slot_search(found, node, index);
        }
    }
    if (run == 0 || params->ith < 0 || params->ith >= GGS_SLOT_LANES) return false;
    self.slot = found;
    self.run  = run;
    self.lane = found->lanes[params->ith];
    // more threads than the plan promised
    if (self.lane == NULL || self.lane->next == NULL) self.lane = ggs_slot_provide(found, (uint32_t) params->ith);
    if (self.lane == NULL) return false;
    ggs_lane_thread(self.lane, run, ggs_thread_id());
    return true;
}

void ggs_op_begin(const struct abi_params * params, struct abi_tensor * node, unsigned absorbed) {
    uint64_t          now   = ggs_ticks_now();
    struct ggs_slot * slot  = self.slot;
    uint32_t          index = self.cursor;
    bool              found = false;
    if (__builtin_expect(slot != NULL && atomic_load_explicit(&slot->number, memory_order_relaxed) == self.run, 1))
        found = ggs_slot_find(slot, node, &index);
    if (__builtin_expect(!found, 0)) {
        if (!attach(params, node, &index)) {
            // A run that is not recorded, beside one that is.
            if (atomic_load_explicit(&ggs_window_skipped, memory_order_relaxed) == 0)
                ggs_losses_count(GGS_LOSS_UNMATCHED, 1);
            self.slot = NULL;
            self.op   = NULL;
            return;
        }
        slot = self.slot;
    }
    self.cursor = index + 1;
    self.op     = ggs_lane_begin(self.lane, self.run, index, now, absorbed);
    if (__builtin_expect(self.op == NULL, 0)) {
        slot->lost++;
        return;
    }
    const struct ggs_known_graph * graph = slot->graph;
    self.barriers                        = 0;
    self.inner_wait                      = 0;
    self.done                            = false;
    // Nodes follow the last one that is computed: two barriers close it.
    self.closing_pair = index + absorbed >= graph->last_executed && graph->last_executed + 1 < graph->n_nodes;
    if (__builtin_expect(graph->copies[index] != 0, 0) && params->ith == 0) {
        unsigned wanted = graph->copies[index];
        for (unsigned s = 0; wanted >> s != 0; s++) {
            if ((wanted >> s & 1) != 0) ggs_lane_index(self.lane, self.run, index, s, node->src[s]);
        }
    }
}

void ggs_op_mark_extra(void) {
    if (self.op != NULL) self.op->flags |= GGS_OP_RUN_EXTRA;
}

void ggs_op_forget(void) {
    self.op = NULL;
}

bool ggs_op_in_flight(void) {
    return self.op != NULL;
}

void ggs_op_current(uint32_t * run, uint32_t * node) {
    *run  = self.op == NULL ? 0 : self.op->run;
    *node = self.op == NULL ? 0 : self.op->node;
}

// The last barrier before the next begin closes an op; earlier ones lie inside it. If nodes that are not computed end the graph, two
// barriers follow the last op, and the first of the two counts.
void ggs_op_barrier(uint64_t enter, uint64_t leave) {
    struct ggs_spool_op * op = self.op;
    if (self.barriers > 0 && !self.closing_pair) {
        self.inner_wait += self.closing_leave - self.closing_enter;
        self.closing_enter = enter, self.closing_leave = leave;
    } else if (self.barriers == 0) {
        self.closing_enter = enter, self.closing_leave = leave;
    } else {
        if (self.barriers > 1) {
            self.inner_wait += self.closing_leave - self.closing_enter;
            self.closing_enter = self.tail_enter, self.closing_leave = self.tail_leave;
        }
        self.tail_enter = enter, self.tail_leave = leave;
    }
    self.barriers++;
    if (self.done) self.ends.followed++;
    self.done = false;
    ggs_lane_end(op, self.closing_enter - op->begin, self.closing_leave - self.closing_enter, self.inner_wait, 0);
}

void ggs_op_ended(void) {
    struct ggs_spool_op * op = self.op;
    if (op == NULL) return;
    uint64_t inner = self.inner_wait; // all barriers so far were inside
    if (self.barriers > 0) inner += self.closing_leave - self.closing_enter;
    if (self.barriers > 1 && self.closing_pair) inner += self.tail_leave - self.tail_enter;
    ggs_lane_end(op, ggs_ticks_now() - op->begin, 0, inner, GGS_OP_RUN_WAIT_UNSEEN);
    self.done = true;
    self.ends.ended++;
}

struct ggs_op_ends ggs_op_ends(void) {
    return self.ends;
}
