#include "stream/run.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stream/budget.h"
#include "stream/disk/files.h"
#include "stream/disk/reader.h"
#include "stream/experts.h"
#include "stream/queue.h"
#include "stream/uses.h"
#include "stream/weights.h"
#include "trace/spool.h"

enum {
    TENSOR_BYTES = sizeof(struct abi_tensor) + 16, // behind the name: a pointer, and padding
    SPINS        = 4000,                           // some 100 microseconds
    SPINS_SOON   = 20000,
    SMALL_RUN    = 3, // uses
};

static struct {
    pthread_mutex_t lock;     // held while a graph runs, and while what runs depend on is changed
    uint32_t        capacity; // of the three that follow, as many as there may be uses
    char (*shadows)[2][TENSOR_BYTES];
    struct ggs_journal_streamed_use * told;    // what became of each use, where a recording wants it
    uint32_t                          ready;   // uses that other threads may go on with; a futex
    uint32_t                          waiters; // threads that sleep on it
    uint32_t                          first_exchanged, end_exchanged;
    struct ggs_weight **              order; // of the weights in this run that go through the queue
    uint32_t                          n_told, n_order;
    uint64_t                          began, waited_before;
} run = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool ggs_run_running;

static _Thread_local bool is_thread_0; // of the run

// The capture library's, if that is loaded too.
static void (*note)(const struct ggs_journal_streamed_use * uses, uint64_t count);

// ---- before a run ----

// Will so many tokens choose more experts than there are slots? Then the weight is read as a whole.
static bool wants_whole(const struct ggs_routing * r) {
    double n = r->group->n_experts, rows = (double) (r->ids->ne[0] * r->ids->ne[1]), none = 1;
    for (int64_t i = 0; i < r->ids->ne[1] && none > 1e-6; i++) none *= 1 - (double) r->ids->ne[0] / n;
    double   expected = n * (1 - none);
    uint32_t slots    = r->group->n_slots - r->group->n_gone;
    return rows > slots && expected + 1 >= slots;
}

// As much room as there may be uses.
static bool make_room(void) {
    static bool looked;
    if (!looked)
        note =
            (void (*)(const struct ggs_journal_streamed_use *, uint64_t)) dlsym(RTLD_DEFAULT, "ggscope_note_streamed");
    looked = true;
    if (run.capacity == ggs_uses.capacity) return true;
    uint32_t capacity = ggs_uses.capacity;
    free(run.shadows);
    free(run.told);
    free(run.order);
    run.shadows  = malloc(capacity * sizeof(*run.shadows));
    run.told     = note == NULL ? NULL : malloc(capacity * sizeof(*run.told));
    run.order    = malloc(capacity * sizeof(*run.order));
    bool ok      = run.shadows != NULL && run.order != NULL && (run.told != NULL || note == NULL);
    run.capacity = ok ? capacity : 0;
    return ok;
}

// Is memory of slots to be lent that was given back?
static bool wants_slots_lent(void) {
    bool any = false;
    for (uint32_t i = 0; i < ggs_uses.n_routings; i++) any |= wants_whole(&ggs_uses.routings[i]);
    return any && !ggs_queue_borrows();
}

// Memory of some slots is the ring while whole experts are read.
static void lend_slots(bool wanted) {
    uint64_t bytes;
    if (wanted == ggs_queue_borrows()) return;
    ggs_reader_drain();
    char * memory = wanted ? ggs_weights_lend(&bytes) : NULL;
    ggs_queue_borrow(memory, memory == NULL ? 0 : bytes);
    if (memory == NULL) ggs_weights_lent_back();
}

// The order of weights for the queue: all dense ones, and those experts that will be read as a whole.
static struct ggs_weight_sequence * order_weights(void) {
    run.n_order = 0;
    bool any    = false;
    for (uint32_t i = 0; i < ggs_uses.n_routings; i++)
        any |= ggs_uses.routings[i].whole = wants_whole(&ggs_uses.routings[i]);
    lend_slots(any);
    for (uint32_t i = 0; i < ggs_uses.n_routings; i++) ggs_uses.routings[i].whole |= ggs_uses.routings[i].group->lent;
    for (uint32_t i = 0; i < ggs_uses.n; i++) {
        struct ggs_use * u = &ggs_uses.uses[i];
        if (u->routing != NULL && (u->weight->place != GGS_PLACE_SLOTS || !u->routing->whole)) continue;
        if (u->routing != NULL && !ggs_queue_holds(u->weight)) continue;
        run.order[run.n_order++] = u->weight;
    }
    return run.n_order == 0 ? NULL : ggs_weight_sequence_of(run.order, run.n_order);
}

// ---- exchange ----

static struct abi_tensor * shadow(uint32_t use, uint32_t which, const struct abi_tensor * of) {
    struct abi_tensor * copy = (struct abi_tensor *) run.shadows[use][which];
    memcpy(copy, of, TENSOR_BYTES);
    return copy;
}

static void exchange(struct ggs_use * u, const char * data) {
    uint32_t            i    = (uint32_t) (u - ggs_uses.uses);
    struct abi_tensor * copy = shadow(i, 0, u->node->src[u->source]);
    copy->data               = (void *) data;
    u->before[0]             = u->node->src[u->source];
    u->node->src[u->source]  = copy;
    u->exchanged             = true;
}

static void exchange_experts(struct ggs_use * u) {
    uint32_t            i    = (uint32_t) (u - ggs_uses.uses);
    struct ggs_weight * w    = u->weight;
    struct abi_tensor * copy = shadow(i, 0, u->node->src[0]);
    struct abi_tensor * ids  = shadow(i, 1, u->node->src[2]);
    copy->data               = w->slots + w->delta;
    copy->nb[2]              = w->stride;
    copy->nb[3]              = w->stride * (uint64_t) copy->ne[2];
    ids->data                = u->routing->renamed;
    ids->nb[1]               = (size_t) ids->ne[0] * sizeof(int32_t);
    ids->nb[2] = ids->nb[3] = ids->nb[1] * (size_t) ids->ne[1];
    u->before[0]            = u->node->src[0];
    u->before[1]            = u->node->src[2];
    u->node->src[0]         = copy;
    u->node->src[2]         = ids;
    u->exchanged            = true;
}

static void put_back(void) {
    for (uint32_t i = run.first_exchanged; i < run.end_exchanged; i++) {
        struct ggs_use * u = &ggs_uses.uses[i];
        if (!u->exchanged) continue;
        u->exchanged            = false;
        u->node->src[u->source] = u->before[0];
        if (u->before[1] != NULL) u->node->src[2] = u->before[1];
        if (u->weight->in_use) ggs_weight_used(u->weight);
        if (u->adopt != NULL) ggs_experts_adopt(u->routing, u->weight->in_group, u->adopt);
    }
    run.first_exchanged = run.end_exchanged;
}

static void route(struct ggs_routing * r) {
    if (r->routed) return;
    r->routed = true;
    if (r->whole) return;
    ggs_experts_route(r);
    // Where the next layer's experts are used in a run of their own, between runs on a device, it is known by its number.
    const struct ggs_routing * next  = r + 1 < ggs_uses.routings + ggs_uses.n_routings ? r + 1 : NULL;
    struct ggs_expert_group *  after = next == NULL ? ggs_expert_group_after(r->group) : next->group;
    if (after != NULL && (next == NULL || !next->routed)) ggs_experts_predict(r, after);
}

// Where the use's data is. What has to be read is asked for here, or was before; the op waits until it is there.
static enum ggs_streamed_place supply(struct ggs_use * u) {
    ggs_stream_counts.uses++;
    if (u->routing == NULL) {
        const char * data = ggs_queue_take(u->weight);
        if (data != NULL) {
            exchange(u, data);
            return u->weight->ready ? GGS_STREAMED_KEPT : GGS_STREAMED_RING;
        }
    } else if (u->weight->place == GGS_PLACE_SLOTS) {
        route(u->routing);
        if (!u->routing->whole) {
            if (u->routing->fits && ggs_experts_wait(u->routing, u->weight->in_group)) {
                exchange_experts(u);
                return GGS_STREAMED_SLOTS;
            }
        } else {
            const char * data = ggs_queue_take(u->weight);
            if (data != NULL) {
                exchange(u, data);
                u->adopt = data;
                return GGS_STREAMED_RING;
            }
        }
    }
    ggs_stream_counts.mapped++;
    return GGS_STREAMED_MAPPING;
}

// The same, and what it came to is noted for the recording.
static void supply_and_tell(struct ggs_use * u) {
    const struct ggs_weight *       w      = u->weight;
    uint64_t                        waited = ggs_stream_counts.wait_ns;
    bool                            ready  = w->ready;
    enum ggs_streamed_place         place  = supply(u);
    struct ggs_journal_streamed_use told   = {
          .node = u->number, .source = (uint16_t) u->source, .place = (uint16_t) place};
    told.wait_ns = ggs_stream_counts.wait_ns - waited;
    if (place == GGS_STREAMED_RING || (place == GGS_STREAMED_KEPT && !ready)) told.bytes_read = w->bytes;
    if (place == GGS_STREAMED_SLOTS) {
        const struct ggs_routing * r = u->routing;
        told.hits                    = r->hits;
        told.misses                  = r->misses;
        told.predicted               = r->predicted;
        told.predicted_used          = r->predicted_used;
        told.bytes_read              = r->misses * w->expert_bytes;
        told.bytes_early             = r->predicted * w->expert_bytes;
    }
    run.told[run.n_told++] = told;
}

static void publish(uint32_t n) {
    __atomic_store_n(&run.ready, n, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&run.waiters, __ATOMIC_SEQ_CST) > 0)
        syscall(SYS_futex, &run.ready, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void begin_op(struct abi_tensor * node) {
    if (run.first_exchanged != run.end_exchanged) {
        put_back();
        ggs_queue_release();
    }
    const struct ggs_action * a = ggs_uses_at(node);
    if (a == NULL) return;
    if (a->route != NULL) route(a->route);
    if (a->n == 0) return;
    ggs_reader_poll();
    ggs_queue_fill();
    run.first_exchanged = a->first;
    run.end_exchanged   = a->first + a->n;
    for (uint32_t i = 0; i < a->n; i++) {
        if (run.told != NULL) {
            supply_and_tell(&ggs_uses.uses[a->first + i]);
        } else {
            supply(&ggs_uses.uses[a->first + i]);
        }
    }
    publish(a->first + a->n);
}

static inline void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
}

// Another thread of the run waits until thread 0 has what the op needs.
static void await(const struct abi_tensor * node) {
    const struct ggs_action * a = ggs_uses_at(node);
    if (a == NULL || a->n == 0) return;
    uint32_t wanted = a->first + a->n, now;
    int      spins  = SPINS;
    for (;;) {
        for (int i = 0; i < spins; i++) {
            if (__atomic_load_n(&run.ready, __ATOMIC_ACQUIRE) >= wanted) return;
            pause_briefly();
        }
        __atomic_add_fetch(&run.waiters, 1, __ATOMIC_SEQ_CST);
        now = __atomic_load_n(&run.ready, __ATOMIC_SEQ_CST);
        if (now < wanted) syscall(SYS_futex, &run.ready, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
        __atomic_sub_fetch(&run.waiters, 1, __ATOMIC_SEQ_CST);
        spins = SPINS_SOON; // woken: it is there, or soon will be
    }
}

void ggs_run_soon(void) {
    if (__atomic_load_n(&run.waiters, __ATOMIC_SEQ_CST) > 0)
        syscall(SYS_futex, &run.ready, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void ggs_run_exchange(struct abi_tensor * node) {
    if (is_thread_0) {
        begin_op(node);
    } else {
        await(node);
    }
}

// ---- runs ----

static bool prepare(const struct abi_graph * graph) {
    uint64_t size;
    if (ggs_files_changed(&size) >= 0) {
        ggs_stream_note_failure();
        return false;
    }
    if (!ggs_uses_survey(graph) || ggs_uses.n == 0 || !make_room()) return false;
    if (ggs_budget_due(ggs_uses.grown, ggs_uses.n < SMALL_RUN, ggs_uses.bytes) ||
        (ggs_weights_given() > 0 && wants_slots_lent())) {
        ggs_queue_reset();
        if (!ggs_budget_decide()) return false;
        ggs_uses_advise(graph);
        for (uint32_t i = 0; i < ggs_expert_groups(); i++) { // small ones are no use of their own
            if (ggs_expert_group_at(i)->router != NULL) ggs_queue_load(ggs_expert_group_at(i)->router);
        }
    }
    ggs_uses_plan_routes(graph);
    struct ggs_weight_sequence * sequence = order_weights();
    run.ready = run.first_exchanged = run.end_exchanged = run.n_told = 0;
    if (sequence != NULL) {
        ggs_queue_begin(sequence);
        ggs_queue_fill();
    }
    return true;
}

bool ggs_run_enter(const struct abi_graph * graph) {
    int passive = GGS_STREAM_PASSIVE;
    if (ggs_stream_now() == passive && !ggs_budget_is_time()) return false;
    if (graph == NULL || graph->n_nodes <= 0 || is_thread_0 || pthread_mutex_trylock(&run.lock) != 0) return false;
    if (ggs_stream_now() == passive && ggs_budget_outgrown())
        __atomic_compare_exchange_n(&ggs_stream_state, &passive, GGS_STREAM_ON, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
    bool ok = ggs_stream_now() == GGS_STREAM_ON && prepare(graph);
    if (!ok) {
        pthread_mutex_unlock(&run.lock);
        return false;
    }
    ggs_stream_counts.runs++;
    run.began         = ggs_stream_clock();
    run.waited_before = ggs_stream_counts.wait_ns;
    is_thread_0       = true;
    __atomic_store_n(&ggs_run_running, true, __ATOMIC_RELEASE);
    return true;
}

void ggs_run_leave(void) {
    put_back();
    if (run.n_told > 0) note(run.told, run.n_told);
    ggs_queue_release();
    ggs_queue_end();
    ggs_queue_fill();
    ggs_experts_note_run(ggs_stream_counts.wait_ns - run.waited_before, ggs_stream_clock() - run.began);
    __atomic_store_n(&ggs_run_running, false, __ATOMIC_RELEASE);
    is_thread_0 = false;
    pthread_mutex_unlock(&run.lock);
}

// While a model is loaded the parts without weights are unmapped. Where weights are known already, one goes away.
void ggs_run_unmap(const void * address, size_t length) {
    pthread_mutex_lock(&run.lock);
    if (ggs_weights_total() > 0) {
        ggs_queue_reset();
        ggs_weights_forget();
        ggs_queue_resize(0);
    }
    ggs_files_unmapped(address, length);
    pthread_mutex_unlock(&run.lock);
}

void ggs_run_child(void) {
    for (uint32_t i = run.first_exchanged; i < run.end_exchanged; i++) {
        struct ggs_use * u = &ggs_uses.uses[i];
        if (!u->exchanged) continue;
        u->node->src[u->source] = u->before[0];
        if (u->before[1] != NULL) u->node->src[2] = u->before[1];
    }
    ggs_run_running = false;
    is_thread_0     = false;
}
