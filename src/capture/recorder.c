#include "capture/recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ticks.h"
#include "capture/segment.h"
#include "trace/spool.h"

enum { MOST_COPY = 4 << 20 };

struct lane {
    struct ggs_segment    segment;
    struct ggs_spool_op * next; // where the next unit goes
    struct ggs_spool_op * end;  // one unit is always left zero
    uint32_t              number, sequence;
    uint32_t              os_thread; // as last told in the lane
};

struct ggs_slot {
    _Atomic uint32_t               number; // 0: nobody may attach
    _Atomic bool                   taken;
    bool                           trailing; // nodes follow the last one that is computed: two barriers close it
    struct abi_tensor **           nodes;    // a copy: a thread that searches may look at it a moment too late
    uint32_t                       capacity; // of nodes; it grows by leaving the old array behind
    const struct ggs_known_graph * graph;
    _Atomic(void *)                pool; // NULL until known
    _Atomic uint32_t               lost; // op runs of the run for which there was no room
    struct lane *                  lanes[GGS_SLOT_THREADS];
};

static struct ggs_slot  slots[GGS_SLOTS];
static _Atomic uint32_t n_lanes;
static struct { _Atomic uint64_t count, begin, end; } losses[GGS_LOSS_COUNT];

struct thread_state {
    struct ggs_slot *     run;
    uint32_t              number; // of the run that `run` was when this thread attached
    uint32_t              cursor; // index of the next node
    struct lane *         lane;
    struct ggs_spool_op * op;  // under way, or ended and not yet followed by another
    struct ggs_slot *     own; // the run that this thread opened: thread 0 needs no search
    uint32_t              os_thread;
    bool                  closing_pair; // the op is the last one and two barriers will close it
    unsigned              barriers;
    uint64_t              closing_enter, closing_leave; // the barrier that ends the op, as far as is known
    uint64_t              tail_enter, tail_leave;       // a later one, where closing_pair
    uint64_t              inner_wait;
};
static _Thread_local struct thread_state self;

struct ggs_recorder_loss ggs_recorder_lost(unsigned reason) {
    return (struct ggs_recorder_loss){losses[reason].count, losses[reason].begin, losses[reason].end};
}

void ggs_recorder_count_loss(unsigned reason, uint64_t count) {
    uint64_t now = ggs_ticks_now(), never = 0;
    losses[reason].count += count;
    atomic_compare_exchange_strong(&losses[reason].begin, &never, now);
    losses[reason].end = now;
}

uint32_t ggs_recorder_thread_id(void) {
    if (self.os_thread == 0) self.os_thread = (uint32_t) syscall(SYS_gettid);
    return self.os_thread;
}

// ---- lanes ----

// Makes sure that `bytes` more fit into a thread's lane.
static struct lane * provide_lane(struct ggs_slot * run, uint32_t thread, uint64_t bytes) {
    struct lane * lane = run->lanes[thread];
    if (lane == NULL) {
        lane = calloc(1, sizeof(*lane));
        if (lane == NULL) return NULL;
        lane->number       = atomic_fetch_add(&n_lanes, 1);
        run->lanes[thread] = lane;
    }
    if (lane->next != NULL && (uint64_t) ((char *) lane->end - (char *) lane->next) >= bytes) return lane;
    struct ggs_segment next;
    if (ggs_segment_create(&next, lane->number, lane->sequence, (uint32_t) (run - slots), thread,
                           bytes + GGS_SPOOL_UNIT) != 0)
        return NULL;
    ggs_segment_leave(&lane->segment);
    lane->segment = next;
    lane->sequence++;
    lane->os_thread = 0;
    lane->next      = (struct ggs_spool_op *) (next.data + sizeof(struct ggs_spool_header));
    uint64_t units  = (next.size - sizeof(struct ggs_spool_header)) / GGS_SPOOL_UNIT - 1;
    lane->end       = lane->next + units;
    return lane;
}

static uint64_t lane_need(const struct ggs_known_graph * graph, uint32_t thread) {
    return ((uint64_t) graph->n_nodes + 2) * GGS_SPOOL_UNIT + (thread == 0 ? graph->index_bytes : 0);
}

// ---- runs ----

static struct ggs_slot * take_slot(void) {
    for (unsigned i = 0; i < GGS_SLOTS; i++) {
        bool free_slot = false;
        if (atomic_compare_exchange_strong(&slots[i].taken, &free_slot, true)) return &slots[i];
    }
    return NULL;
}

static bool copy_nodes(struct ggs_slot * run, const struct abi_graph * graph) {
    uint32_t n = (uint32_t) graph->n_nodes;
    if (n > run->capacity) {
        uint32_t capacity = run->capacity < 1024 ? 1024 : run->capacity;
        while (capacity < n) capacity *= 2;
        struct abi_tensor ** array = calloc(capacity, sizeof(*array));
        if (array == NULL) return false;
        run->nodes    = array;
        run->capacity = capacity;
    }
    memcpy(run->nodes, graph->nodes, n * sizeof(*run->nodes));
    return true;
}

struct ggs_slot * ggs_slot_open(uint32_t number, const struct abi_graph * nodes, const struct ggs_known_graph * graph,
                                void * pool, int threads) {
    struct ggs_slot * run = take_slot();
    if (run == NULL || threads > GGS_SLOT_THREADS) {
        if (run != NULL) atomic_store(&run->taken, false);
        errno = EBUSY;
        return NULL;
    }
    for (int t = 0; t < threads; t++) {
        if (provide_lane(run, (uint32_t) t, lane_need(graph, (uint32_t) t)) == NULL) {
            atomic_store(&run->taken, false);
            return NULL;
        }
    }
    if (!copy_nodes(run, nodes)) {
        atomic_store(&run->taken, false);
        return NULL;
    }
    run->lost     = 0;
    run->graph    = graph;
    run->trailing = graph->last_executed + 1 < graph->n_nodes;
    atomic_store_explicit(&run->pool, pool, memory_order_relaxed);
    atomic_store_explicit(&run->number, number, memory_order_release);
    self.own = run;
    return run;
}

uint32_t ggs_slot_number(const struct ggs_slot * run) {
    return run == NULL ? UINT32_MAX : (uint32_t) (run - slots);
}

uint64_t ggs_slot_close(struct ggs_slot * run) {
    self.own      = NULL;
    self.op       = NULL;
    uint64_t lost = run->lost;
    atomic_store_explicit(&run->number, 0, memory_order_relaxed);
    atomic_store_explicit(&run->taken, false, memory_order_release);
    return lost;
}

// ---- ops ----

static bool begins_with(const struct ggs_slot * run, const struct abi_tensor * node, uint32_t * index) {
    for (uint32_t i = 0; i < run->graph->n_nodes; i++) {
        if (run->nodes[i] == node) {
            *index = i;
            return true;
        }
    }
    return false;
}

// Which run does this op belong to? The one this thread opened; else the one of its pool; else, where the engine made a
// pool for the run, the one whose nodes hold this one.
static bool attach(const struct abi_params * params, const struct abi_tensor * node, uint32_t * index) {
    struct ggs_slot * found = NULL;
    if (self.own != NULL && begins_with(self.own, node, index)) {
        found = self.own;
        if (params->ith == 0) atomic_store_explicit(&found->pool, params->threadpool, memory_order_relaxed);
    }
    for (unsigned pass = 0; pass < 2 && found == NULL; pass++) {
        for (unsigned i = 0; i < GGS_SLOTS && found == NULL; i++) {
            struct ggs_slot * run  = &slots[i];
            void *            pool = NULL;
            if (atomic_load_explicit(&run->number, memory_order_acquire) == 0) continue;
            pool = atomic_load_explicit(&run->pool, memory_order_relaxed);
            if (pool != params->threadpool && (pass == 0 || pool != NULL)) continue; // thread 0 may tell it meanwhile
            if (begins_with(run, node, index)) found = run;
        }
    }
    if (found == NULL || params->ith < 0 || params->ith >= GGS_SLOT_THREADS) return false;
    self.run    = found;
    self.number = atomic_load_explicit(&found->number, memory_order_relaxed);
    self.lane   = found->lanes[params->ith];
    if (self.lane == NULL || self.lane->next == NULL) { // more threads than the plan promised
        self.lane = provide_lane(found, (uint32_t) params->ith, lane_need(found->graph, (uint32_t) params->ith));
        if (self.lane == NULL) return false;
    }
    if (self.lane->os_thread != ggs_recorder_thread_id() && self.lane->next < self.lane->end) {
        struct ggs_spool_op * unit = self.lane->next++;
        unit->run                  = self.number;
        unit->node                 = self.os_thread;
        unit->begin                = ggs_ticks_now();
        __atomic_store_n(&unit->type, GGS_UNIT_THREAD, __ATOMIC_RELEASE);
        self.lane->os_thread = self.os_thread;
    }
    return true;
}

// Copies the values of a tensor, dense, first dimension fastest. Returns the bytes written.
static uint64_t copy_values(char * to, uint64_t room, const struct abi_tensor * t, size_t width) {
    uint64_t used = 0;
    for (int64_t i3 = 0; i3 < t->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < t->ne[2]; i2++) {
            for (int64_t i1 = 0; i1 < t->ne[1]; i1++) {
                const char * row =
                    (const char *) t->data + (size_t) i3 * t->nb[3] + (size_t) i2 * t->nb[2] + (size_t) i1 * t->nb[1];
                uint64_t bytes = (uint64_t) t->ne[0] * width;
                if (used + bytes > room) return used;
                if (t->nb[0] == width) {
                    memcpy(to + used, row, bytes);
                } else {
                    for (int64_t i0 = 0; i0 < t->ne[0]; i0++)
                        memcpy(to + used + (size_t) i0 * width, row + (size_t) i0 * t->nb[0], width);
                }
                used += bytes;
            }
        }
    }
    return used;
}

// The types that index tensors and routing weights have: f32, i32, i64. Their numbers are part of the GGUF format.
static size_t width_of(int type) {
    return type == 0 || type == 26 ? 4 : type == 27 ? 8 : 0;
}

static void copy_source(struct lane * lane, uint32_t node, unsigned source, const struct abi_tensor * t) {
    size_t width = t == NULL ? 0 : width_of(t->type);
    if (width == 0 || lane->next >= lane->end) return;
    struct ggs_spool_index * unit  = (struct ggs_spool_index *) lane->next;
    uint64_t                 room  = (uint64_t) ((char *) lane->end - (char *) (unit + 1));
    uint64_t                 total = (uint64_t) (t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]) * width;
    uint64_t                 bytes = copy_values((char *) (unit + 1), room < MOST_COPY ? room : MOST_COPY, t, width);
    unit->source                   = (uint8_t) source;
    unit->width                    = (uint8_t) width;
    unit->flags                    = bytes < total ? GGS_INDEX_CUT : 0;
    unit->run                      = self.number;
    unit->node                     = node;
    unit->bytes                    = (uint32_t) bytes;
    for (int d = 0; d < 4; d++) unit->ne[d] = (uint32_t) t->ne[d];
    __atomic_store_n(&unit->type, GGS_UNIT_INDEX, __ATOMIC_RELEASE);
    lane->next += 1 + (bytes + GGS_SPOOL_UNIT - 1) / GGS_SPOOL_UNIT;
}

void ggs_op_begin(const struct abi_params * params, struct abi_tensor * node, unsigned absorbed) {
    uint64_t          now   = ggs_ticks_now();
    struct ggs_slot * run   = self.run;
    uint32_t          index = self.cursor;
    bool              found = false;
    if (__builtin_expect(run != NULL && atomic_load_explicit(&run->number, memory_order_relaxed) == self.number, 1)) {
        uint32_t n = run->graph->n_nodes;
        while (index < n && run->nodes[index] != node) index++;
        found = index < n;
    }
    if (__builtin_expect(!found, 0)) {
        if (!attach(params, node, &index)) {
            ggs_recorder_count_loss(GGS_LOSS_UNMATCHED, 1);
            self.run = NULL;
            self.op  = NULL;
            return;
        }
        run = self.run;
    }
    struct lane *         lane = self.lane;
    struct ggs_spool_op * op   = lane->next;
    self.cursor                = index + 1;
    if (__builtin_expect(op >= lane->end, 0)) {
        run->lost++;
        self.op = NULL;
        return;
    }
    lane->next = op + 1;
    op->begin  = now;
    op->node   = index;
    op->run    = self.number;
    op->flags  = absorbed > 0 ? GGS_OP_RUN_FUSED : 0;
    op->count  = (uint8_t) absorbed;
    __atomic_store_n(&op->type, GGS_UNIT_OP, __ATOMIC_RELEASE);
    self.op           = op;
    self.barriers     = 0;
    self.inner_wait   = 0;
    self.closing_pair = run->trailing && index + absorbed >= run->graph->last_executed;
    if (__builtin_expect(run->graph->copies[index] != 0, 0) && params->ith == 0) {
        unsigned wanted = run->graph->copies[index];
        for (unsigned s = 0; wanted >> s != 0; s++) {
            if ((wanted >> s & 1) != 0) copy_source(lane, index, s, node->src[s]);
        }
    }
}

void ggs_op_mark_extra(void) {
    if (self.op != NULL) self.op->flags |= GGS_OP_RUN_EXTRA;
}

bool ggs_op_in_flight(void) {
    return self.op != NULL;
}

void ggs_op_current(uint32_t * run, uint32_t * node) {
    *run  = self.op == NULL ? 0 : self.op->run;
    *node = self.op == NULL ? 0 : self.op->node;
}

// The last barrier before the next begin closes an op; earlier ones lie inside it. Where nodes that are not computed end the
// graph, two barriers follow the last op, and the first of the two counts.
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

    uint64_t duration = self.closing_enter - op->begin, wait = self.closing_leave - self.closing_enter;
    unsigned shift = 0;
    while (((duration | wait | self.inner_wait) >> shift) > UINT32_MAX) shift++;
    op->duration   = (uint32_t) (duration >> shift);
    op->wait       = (uint32_t) (wait >> shift);
    op->inner_wait = (uint32_t) (self.inner_wait >> shift);
    op->shift      = (uint8_t) shift;
    __atomic_store_n(&op->flags, op->flags | GGS_OP_RUN_ENDED, __ATOMIC_RELEASE);
}
