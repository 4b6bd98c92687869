#include "capture/cpu/ops.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/system/ticks.h"
#include "capture/losses.h"
#include "capture/thread.h"
#include "capture/window.h"

enum { NO_NODE = GGS_SLOT_NO_NODE };
_Thread_local struct ggs_op_state ggs_op_self = {.unusual = GGS_OP_NONE};

// ---- threads that may be inside ----

static pthread_mutex_t       list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ggs_op_state * list;
static bool                  listing;
static pthread_key_t         at_thread_end;

static void unlist(void * state) {
    pthread_mutex_lock(&list_lock);
    for (struct ggs_op_state ** at = &list; *at != NULL; at = &(*at)->next) {
        if (*at != state) continue;
        *at = (*at)->next;
        break;
    }
    ((struct ggs_op_state *) state)->listed = false;
    pthread_mutex_unlock(&list_lock);
}

// False if it cannot be: then it must not record.
static bool list_self(void) {
    if (pthread_setspecific(at_thread_end, &ggs_op_self) != 0) return false;
    pthread_mutex_lock(&list_lock);
    ggs_op_self.next   = list;
    list               = &ggs_op_self;
    ggs_op_self.listed = true;
    pthread_mutex_unlock(&list_lock);
    return true;
}

void ggs_ops_list_threads(void) {
    if (!listing && pthread_key_create(&at_thread_end, unlist) == 0) listing = true;
}

void ggs_ops_forget_threads(void) {
    list_lock          = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    list               = NULL;
    ggs_op_self.listed = false;
}

// What other threads have stored before this is seen after it, and what they load after it is not
// older.
static void order_threads(void) {
    static bool registered;
    if (!registered) registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0 &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0)
        usleep(100000); // longer than any processor keeps a store to itself
}

// Makes threads that are outside forget. True if all were, and had nothing to forget.
static bool sweep_threads(void) {
    bool clean = true;
    pthread_mutex_lock(&list_lock);
    for (struct ggs_op_state * state = list; state != NULL; state = state->next) {
        bool outside = __atomic_load_n(&state->inside, __ATOMIC_ACQUIRE) == 0;
        clean        = clean && outside && state->op == NULL && state->slot == NULL;
        if (!outside) continue;
        state->op      = NULL;
        state->slot    = NULL;
        state->at      = 0;
        state->unusual = GGS_OP_NONE;
    }
    pthread_mutex_unlock(&list_lock);
    return clean;
}

// A thread that comes inside after the barrier finds nothing to write to, and nothing that it could
// begin: so once a sweep finds all threads outside and clean, they stay so.
bool ggs_ops_release_threads(uint64_t patience_ns) {
    for (uint64_t end = ggs_clock_now() + patience_ns; ggs_clock_now() < end; usleep(1000)) {
        order_threads();
        if (sweep_threads()) return true;
    }
    return false;
}

// ---- which run ----

void ggs_op_set_opened(struct ggs_slot * slot) {
    ggs_op_self.opened = slot;
    if (slot == NULL)
        ggs_op_clear();
    else
        ggs_op_self.ends = (struct ggs_op_ends){0, 0};
}

// The slot whose run has the node, its index, and the number of the run; 0 if there is none. It is
// the slot that this thread opened; else that of the thread's pool; else, if the engine made a pool
// for the run, any that has the node.
static uint32_t find_slot(const struct abi_params * params, const struct abi_tensor * node, struct ggs_slot ** found,
                          uint32_t * index) {
    struct ggs_slot * opened = ggs_op_self.opened;
    uint32_t          run    = opened == NULL ? 0 : ggs_slot_search(opened, node, index);
    if (run != 0) {
        *found = opened;
        if (params->ith == 0) atomic_store_explicit(&opened->pool, params->threadpool, memory_order_relaxed);
    }
    for (unsigned pass = 0; pass < 2 && run == 0; pass++) {
        for (unsigned i = 0; i < GGS_SLOTS && run == 0; i++) {
            *found      = &ggs_slots[i];
            void * pool = atomic_load_explicit(&ggs_slots[i].pool, memory_order_relaxed);
            if (pool != params->threadpool && (pass == 0 || pool != NULL)) continue; // thread 0 may store it meanwhile
            run = ggs_slot_search(*found, node, index);
        }
    }
    return run;
}

// Attaches the thread to the run that the op belongs to. Returns the node's index.
static __attribute__((noinline, cold)) uint32_t attach(const struct abi_params * params,
                                                       const struct abi_tensor * node) {
    struct ggs_op_state * self  = &ggs_op_self;
    struct ggs_slot *     slot  = NULL;
    uint32_t              index = 0, run = find_slot(params, node, &slot, &index);
    if (run == 0 || params->ith < 0 || params->ith >= GGS_SLOT_LANES) return NO_NODE;
    if (listing && !self->listed && !list_self()) return NO_NODE;
    const struct ggs_captured_graph * graph = slot->graph;
    self->slot                              = slot;
    self->run                               = run;
    self->nodes                             = atomic_load_explicit(&slot->nodes, memory_order_relaxed);
    self->copies                            = graph->copies;
    // Nodes that are not computed follow the last one that is.
    self->paired = graph->last_executed + 1 < graph->n_nodes ? graph->last_executed : UINT32_MAX;
    // The last one, and what it may be fused with, take the long way.
    self->usual = graph->last_executed > 0 ? graph->last_executed - 1 : 0;
    self->lane  = slot->lanes[params->ith];
    // more threads than the plan promised
    if (self->lane == NULL || self->lane->next == NULL) self->lane = ggs_slot_provide(slot, (uint32_t) params->ith);
    if (self->lane == NULL) return NO_NODE;
    ggs_lane_thread(self->lane, run, ggs_thread_id());
    return index;
}

static void count_unmatched(void) {
    // Beside runs that are not recorded, ops without a run are expected.
    if (atomic_load_explicit(&ggs_window_skipped, memory_order_relaxed) == 0) ggs_losses_count(GGS_LOSS_UNMATCHED, 1);
    ggs_op_self.slot = NULL;
}

void ggs_op_copy_indices(const struct abi_params * params, const struct abi_tensor * node, uint32_t index) {
    const struct ggs_op_state * self   = &ggs_op_self;
    unsigned                    wanted = params->ith == 0 ? self->copies[index] : 0;
    for (unsigned s = 0; wanted >> s != 0; s++) {
        if ((wanted >> s & 1) != 0) ggs_lane_index(self->lane, self->run, index, s, node->src[s]);
    }
}

// An op that does not simply follow on the one before it: the first of a thread in a run, the last,
// or one behind an op whose end was not seen.
void ggs_op_begin_anew(const struct abi_params * params, struct abi_tensor * node, bool fused) {
    struct ggs_op_state * self = &ggs_op_self;
    uint64_t              at   = self->unusual <= GGS_OP_HOOKS_DIFFER && ggs_op_has_ended() ? self->at : 0;
    ggs_op_clear();
    // Outside of windows: no op of any thread belongs to a graph run that is recorded.
    if (ggs_window_is_closed() && atomic_load_explicit(&ggs_slots_open, memory_order_relaxed) == 0) return;
    uint32_t index = NO_NODE;
    if (self->slot != NULL && atomic_load_explicit(&self->slot->number, memory_order_relaxed) == self->run)
        index = ggs_slot_find(self->nodes, node, self->cursor);
    if (index == NO_NODE) {
        at    = 0;
        index = attach(params, node);
    }
    if (index == NO_NODE) {
        count_unmatched();
        return;
    }
    if (at == 0) at = ggs_ticks_now();
    self->op     = ggs_lane_begin_at(self->lane, self->run, index, at, fused);
    self->cursor = index + 1;
    if (self->op == NULL) {
        self->slot->lost++;
        return;
    }
    self->at       = at;
    self->unusual  = (self->slot->watched ? GGS_OP_ALONE : 0) | (index + fused >= self->paired ? GGS_OP_PAIRED : 0);
    self->barriers = 0;
    if (self->copies[index] != 0) ggs_op_copy_indices(params, node, index);
}

void ggs_op_mark_extra(void) {
    if (ggs_op_self.op != NULL) ggs_op_self.op->flags |= GGS_OP_RUN_EXTRA;
}

void ggs_op_current(uint32_t * run, uint32_t * node) {
    const struct ggs_op_state * self = &ggs_op_self;
    *run                             = self->op == NULL ? 0 : self->run;
    *node                            = self->op == NULL ? 0 : self->cursor - 1;
}

// Of all barriers of the op so far.
static uint64_t waits(const struct ggs_spool_op * op) {
    return ((uint64_t) op->inner_wait + op->wait) << op->shift;
}

// The next op will not begin where a barrier of this one was left.
static void set_alone(struct ggs_op_state * self) {
    if (self->at != 0) self->begin = self->at - self->op->wait - self->op->duration;
    self->at = 0;
    self->unusual |= GGS_OP_ALONE;
}

// If nodes that are not computed end the graph, two barriers follow the last op, and the first of
// the two counts: each is held back until one comes behind it.
void ggs_op_barrier_unusual(uint64_t enter, uint64_t leave) {
    struct ggs_op_state * self = &ggs_op_self;
    set_alone(self);
    if (enter < self->begin) enter = self->begin; // on a machine whose counters differ by core
    if (leave < enter) leave = enter;
    if ((self->unusual & GGS_OP_ENDED) != 0) {
        self->ends.followed++;
        self->unusual &= ~(uint32_t) GGS_OP_ENDED;
    }
    if ((self->unusual & GGS_OP_PAIRED) != 0) {
        uint32_t before     = self->barriers++;
        uint64_t tail_enter = self->tail_enter, tail_leave = self->tail_leave;
        if (before > 0) self->tail_enter = enter, self->tail_leave = leave;
        if (before == 1) return;
        if (before > 1) enter = tail_enter, leave = tail_leave;
    }
    ggs_lane_end_at(self->op, enter - self->begin, leave - enter, waits(self->op), 0);
}

void ggs_op_ended(void) {
    struct ggs_op_state * self = &ggs_op_self;
    if (self->op == NULL) return;
    set_alone(self);
    uint64_t inner = waits(self->op); // all barriers so far were inside
    if (self->barriers >= 2) inner += self->tail_leave - self->tail_enter;
    ggs_lane_end_at(self->op, ggs_ticks_now() - self->begin, 0, inner, GGS_OP_RUN_WAIT_UNSEEN);
    self->unusual |= GGS_OP_ENDED;
    self->barriers = 0;
    self->ends.ended++;
}

struct ggs_op_ends ggs_op_ends(void) {
    return ggs_op_self.ends;
}
