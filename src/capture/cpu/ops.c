#include "capture/cpu/ops.h"

#include "base/system/ticks.h"
#include "capture/losses.h"
#include "capture/thread.h"
#include "capture/window.h"

enum { NO_NODE = GGS_SLOT_NO_NODE };
_Thread_local struct ggs_op_state ggs_op_self = {.rare = GGS_OP_NONE};
#define self ggs_op_self

void ggs_op_own(struct ggs_slot * slot) {
    self.own = slot;
    if (slot == NULL)
        ggs_op_forget();
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
    self.usual =
        graph->last_executed > 0 ? graph->last_executed - 1 : 0; // with the last one and what it may be fused with
    self.lane = found->lanes[params->ith];
    // more threads than the plan promised
    if (self.lane == NULL || self.lane->next == NULL) self.lane = ggs_slot_provide(found, (uint32_t) params->ith);
    if (self.lane == NULL) return NO_NODE;
    ggs_lane_thread(self.lane, run, ggs_thread_id());
    return index;
}

static void not_found(void) {
    // A run that is not recorded, beside one that is.
    if (atomic_load_explicit(&ggs_window_skipped, memory_order_relaxed) == 0) ggs_losses_count(GGS_LOSS_UNMATCHED, 1);
    self.slot = NULL;
}

void ggs_op_copy_indices(const struct abi_params * params, const struct abi_tensor * node, uint32_t index) {
    unsigned wanted = params->ith == 0 ? self.copies[index] : 0;
    for (unsigned s = 0; wanted >> s != 0; s++) {
        if ((wanted >> s & 1) != 0) ggs_lane_index(self.lane, self.run, index, s, node->src[s]);
    }
}

// An op that does not simply follow on the one before it: the first of a thread in a run, the last, or one behind an op whose end was not seen.
void ggs_op_begin_anew(const struct abi_params * params, struct abi_tensor * node, bool fused) {
    uint64_t at = self.rare <= GGS_OP_UNUSUAL && ggs_op_follows() ? self.at : 0;
    ggs_op_forget();
    // Outside of windows: no op of any thread belongs to a graph run that is recorded.
    if (ggs_window_is_closed() && atomic_load_explicit(&ggs_slots_taken, memory_order_relaxed) == 0) return;
    uint32_t index = NO_NODE;
    if (self.slot != NULL && atomic_load_explicit(&self.slot->number, memory_order_relaxed) == self.run)
        index = ggs_slot_find(self.nodes, node, self.cursor);
    if (index == NO_NODE) {
        at    = 0;
        index = attach(params, node);
    }
    if (index == NO_NODE) {
        not_found();
        return;
    }
    if (at == 0) at = ggs_ticks_now();
    self.op     = ggs_lane_begin_at(self.lane, self.run, index, at, fused);
    self.cursor = index + 1;
    if (self.op == NULL) {
        self.slot->lost++;
        return;
    }
    self.at   = at;
    self.rare = (self.slot->watched ? GGS_OP_ALONE : 0) | (index + fused >= self.paired ? GGS_OP_PAIRED : 0);
    if (self.copies[index] != 0) ggs_op_copy_indices(params, node, index);
}

void ggs_op_mark_extra(void) {
    if (self.op != NULL) self.op->flags |= GGS_OP_RUN_EXTRA;
}

void ggs_op_current(uint32_t * run, uint32_t * node) {
    *run  = self.op == NULL ? 0 : self.run;
    *node = self.op == NULL ? 0 : self.cursor - 1;
}

// Of all barriers of the op so far.
static uint64_t waits(const struct ggs_spool_op * op) {
    return ((uint64_t) op->inner_wait + op->wait) << op->shift;
}

// The next op will not begin where a barrier of this one was left.
static void stand_alone(void) {
    if (self.at != 0) self.begin = self.at - self.op->wait - self.op->duration;
    self.at = 0;
    self.rare |= GGS_OP_ALONE;
}

// If nodes that are not computed end the graph, two barriers follow the last op, and the first of the two counts: each is held back until one
// comes behind it.
void ggs_op_barrier_rare(uint64_t enter, uint64_t leave) {
    stand_alone();
    if (enter < self.begin) enter = self.begin; // on a machine whose counters differ by core
    if (leave < enter) leave = enter;
    if ((self.rare & GGS_OP_DONE) != 0) {
        self.ends.followed++;
        self.rare &= ~(uint32_t) GGS_OP_DONE;
    }
    if ((self.rare & GGS_OP_PAIRED) != 0) {
        uint32_t barriers   = self.rare / GGS_OP_BARRIER;
        uint64_t tail_enter = self.tail_enter, tail_leave = self.tail_leave;
        self.rare += GGS_OP_BARRIER;
        if (barriers > 0) self.tail_enter = enter, self.tail_leave = leave;
        if (barriers == 1) return;
        if (barriers > 1) enter = tail_enter, leave = tail_leave;
    }
    ggs_lane_end_at(self.op, enter - self.begin, leave - enter, waits(self.op), 0);
}

void ggs_op_ended(void) {
    if (self.op == NULL) return;
    stand_alone();
    uint64_t inner = waits(self.op); // all barriers so far were inside
    if (self.rare >= 2 * GGS_OP_BARRIER) inner += self.tail_leave - self.tail_enter;
    ggs_lane_end_at(self.op, ggs_ticks_now() - self.begin, 0, inner, GGS_OP_RUN_WAIT_UNSEEN);
    self.rare = self.rare % GGS_OP_BARRIER | GGS_OP_DONE;
    self.ends.ended++;
}

struct ggs_op_ends ggs_op_ends(void) {
    return self.ends;
}
