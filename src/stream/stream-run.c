#include "stream/stream-run.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "stream/core.h"
#include "stream/weights/predict.h"
#include "trace/spool.h"

enum {
    SPINS      = 4000, // about 100 microseconds
    SPINS_SOON = 20000,
    SMALL_RUN  = 3, // uses
};

void ggs_stream_run_release(struct ggs_stream_run * run) {
    free(run->shadows);
    free(run->outcomes);
    free(run->order);
}

// ---- exchange ----

static struct ggs_routing * routing_of(struct ggs_stream * s, const struct ggs_use * u) {
    return u->routing < 0 ? NULL : &s->uses.routings[u->routing];
}

// Makes a copy of a tensor that replaces the op's source.
static struct abi_tensor * put_shadow(struct ggs_stream * s, struct ggs_use * u, uint32_t which, uint32_t source) {
    struct abi_tensor * copy = (struct abi_tensor *) s->run.shadows[u - s->uses.uses].bytes[which];
    u->before[which]         = u->node->src[source];
    memcpy(copy, u->before[which], GGS_SHADOW_BYTES);
    return copy;
}

static void exchange(struct ggs_stream * s, struct ggs_use * u, const char * data) {
    struct abi_tensor * copy = put_shadow(s, u, 0, u->source);
    copy->data               = (void *) data;
    u->node->src[u->source]  = copy;
    u->exchanged             = true;
}

static void exchange_experts(struct ggs_stream * s, struct ggs_use * u) {
    struct ggs_weight * w    = u->weight;
    struct abi_tensor * copy = put_shadow(s, u, 0, 0);
    struct abi_tensor * ids  = put_shadow(s, u, 1, 2);
    copy->data               = w->window + w->delta;
    copy->nb[2]              = w->stride;
    copy->nb[3]              = w->stride * (uint64_t) copy->ne[2];
    ids->data                = routing_of(s, u)->renamed;
    ids->nb[1]               = (size_t) ids->ne[0] * sizeof(int32_t);
    ids->nb[2] = ids->nb[3] = ids->nb[1] * (size_t) ids->ne[1];
    u->node->src[0]         = copy;
    u->node->src[2]         = ids;
    u->exchanged            = true;
}

void ggs_stream_run_put_back(struct ggs_stream * s) {
    for (uint32_t i = s->run.first_exchanged; i < s->run.end_exchanged; i++) {
        struct ggs_use * u = &s->uses.uses[i];
        if (!u->exchanged) continue;
        u->exchanged            = false;
        u->node->src[u->source] = u->before[0];
        if (u->before[1] != NULL) u->node->src[2] = u->before[1];
        u->weight->in_use = false;
    }
}

// Called when all threads have left the ops with replaced sources.
static void end_ops(struct ggs_stream * s) {
    uint32_t first = s->run.first_exchanged, end = s->run.end_exchanged;
    if (first == end) return;
    ggs_stream_run_put_back(s);
    for (uint32_t i = first; i < end; i++) {
        if (s->uses.uses[i].routing >= 0) ggs_expert_slots_used(s, s->uses.uses[i].weight);
    }
    s->run.first_exchanged = end;
    ggs_weight_ring_release(s);
}

// ---- ops ----

// The experts of a layer are known. If the next layer's experts are used in a separate run, between
// runs on a device, it is found by its number.
static void route(struct ggs_stream * s, struct ggs_routing * r) {
    if (r->routed) return;
    r->routed = true;
    ggs_expert_slots_route(s, r);
    struct ggs_routing *      next  = r + 1 < s->uses.routings + s->uses.n_routings ? r + 1 : NULL;
    struct ggs_expert_group * after = next == NULL ? ggs_weight_table_group_after(&s->weights, r->group) : next->group;
    if (after == r->group) return; // used twice in a row: what this choice needs must stay
    if (next != NULL) ggs_expert_slots_foresee(s, next);
    if (after != NULL && (next == NULL || !next->routed)) ggs_predict(s, r, after);
}

// Provides the data of a use where the op will read it. Missing data is requested here, if not
// earlier.
static enum ggs_streamed_place supply(struct ggs_stream * s, struct ggs_use * u) {
    struct ggs_routing * r = routing_of(s, u);
    s->counts.uses++;
    if (r == NULL) {
        const char * data = ggs_weight_ring_acquire(s, u->weight);
        if (data != NULL) {
            exchange(s, u, data);
            return u->weight->where == GGS_WEIGHT_KEPT ? GGS_STREAMED_KEPT : GGS_STREAMED_RING;
        }
    } else if (u->weight->where == GGS_WEIGHT_SLOTS) {
        route(s, r);
        if (ggs_expert_slots_supply(s, r, u->weight->in_group)) {
            exchange_experts(s, u);
            return GGS_STREAMED_SLOTS;
        }
    }
    s->counts.mapped++;
    return GGS_STREAMED_MAPPING;
}

// The same, and keeps the outcome for the recording.
static void supply_and_record(struct ggs_stream * s, struct ggs_use * u) {
    const struct ggs_weight *       w       = u->weight;
    uint64_t                        waited  = s->counts.wait_ns;
    bool                            ready   = w->arrival.state == GGS_ARRIVAL_READY;
    enum ggs_streamed_place         place   = supply(s, u);
    struct ggs_journal_streamed_use outcome = {
        .node = u->number, .source = (uint16_t) u->source, .place = (uint16_t) place};
    outcome.wait_ns = s->counts.wait_ns - waited;
    if (place == GGS_STREAMED_RING || (place == GGS_STREAMED_KEPT && !ready)) outcome.bytes_read = w->bytes;
    if (place == GGS_STREAMED_SLOTS) {
        const struct ggs_routing * r = routing_of(s, u);
        outcome.hits                 = r->hits;
        outcome.misses               = r->misses;
        outcome.predicted            = r->predicted;
        outcome.predicted_used       = r->predicted_used;
        outcome.bytes_read           = r->misses * w->expert_bytes;
        outcome.bytes_early          = r->early[w->in_group] * w->expert_bytes;
    }
    if (s->run.n_outcomes < s->run.outcomes_capacity) s->run.outcomes[s->run.n_outcomes++] = outcome;
}

static void wake_waiters(struct ggs_stream_run * run) {
    if (__atomic_load_n(&run->waiters, __ATOMIC_SEQ_CST) > 0)
        syscall(SYS_futex, &run->ready, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void ggs_stream_run_wake_soon(struct ggs_stream * s) {
    wake_waiters(&s->run);
}

static void begin_op(struct ggs_stream * s, struct abi_tensor * node) {
    const struct ggs_action * a = ggs_uses_at(&s->uses, node);
    if (a == NULL && s->run.first_exchanged == s->run.end_exchanged) return;
    ggs_stream_lock(s);
    end_ops(s);
    if (a != NULL && a->route != NULL) route(s, a->route);
    if (a != NULL && a->n > 0) {
        ggs_weight_ring_fill(s);
        s->run.first_exchanged = a->first;
        s->run.end_exchanged   = a->first + a->n;
        for (uint32_t i = a->first; i < a->first + a->n; i++) {
            if (s->run.outcomes != NULL) {
                supply_and_record(s, &s->uses.uses[i]);
            } else {
                supply(s, &s->uses.uses[i]);
            }
        }
        __atomic_store_n(&s->run.ready, a->first + a->n, __ATOMIC_SEQ_CST);
        wake_waiters(&s->run);
    }
    ggs_stream_unlock(s);
}

static inline void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
}

// The other threads of the run wait until the first one has what the op needs.
static void await_first(struct ggs_stream * s, const struct abi_tensor * node) {
    const struct ggs_action * a   = ggs_uses_at(&s->uses, node);
    struct ggs_stream_run *   run = &s->run;
    if (a == NULL || a->n == 0) return;
    uint32_t wanted = a->first + a->n, now;
    int      spins  = SPINS;
    for (;;) {
        for (int i = 0; i < spins; i++) {
            if (__atomic_load_n(&run->ready, __ATOMIC_ACQUIRE) >= wanted) return;
            pause_briefly();
        }
        __atomic_add_fetch(&run->waiters, 1, __ATOMIC_SEQ_CST);
        now = __atomic_load_n(&run->ready, __ATOMIC_SEQ_CST);
        if (now < wanted) syscall(SYS_futex, &run->ready, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
        __atomic_sub_fetch(&run->waiters, 1, __ATOMIC_SEQ_CST);
        spins = SPINS_SOON; // woken: it is there or arrives soon
    }
}

void ggs_stream_exchange(struct ggs_stream * s, struct abi_tensor * node) {
    if (ggs_stream_run_is_mine(&s->run)) {
        begin_op(s, node);
    } else {
        await_first(s, node);
    }
}

// ---- runs ----

// Makes room for the maximum number of uses.
static bool make_room(struct ggs_stream * s) {
    size_t n = s->uses.n;
    return ggs_array_reserve(s->run.shadows, s->run.shadows_capacity, n) &&
           ggs_array_reserve(s->run.order, s->run.order_capacity, n) &&
           (s->world.record_uses == NULL || ggs_array_reserve(s->run.outcomes, s->run.outcomes_capacity, n));
}

// True if a graph will choose more experts than there are slots, because memory was given back.
static bool misses_slots(const struct ggs_stream * s) {
    for (size_t i = 0; i < s->uses.n_routings && s->given > 0; i++) {
        const struct ggs_routing *      r = &s->uses.routings[i];
        const struct ggs_expert_group * g = r->group;
        if (g->n_given > 0 && (uint64_t) (r->ids->ne[0] * r->ids->ne[1]) > g->n_experts - g->n_given) return true;
    }
    return false;
}

static bool prepare(struct ggs_stream * s, const struct abi_graph * graph) {
    uint64_t size;
    if (ggs_files_changed(&s->files, &size) != NULL) {
        ggs_stream_count_failure(s);
        return false;
    }
    if (!ggs_uses_survey(s, graph)) return false;
    if (s->uses.n == 0) ggs_budget_unused(s);
    if (s->uses.n == 0 || !make_room(s)) return false;
    if (ggs_budget_due(s, s->uses.n < SMALL_RUN) || misses_slots(s)) {
        if (!ggs_budget_decide(s)) return false;
        ggs_uses_advise(s, graph);
        for (size_t i = 0; i < s->weights.n_groups; i++) { // small weights have no uses
            struct ggs_weight * router = s->weights.groups[i]->router;
            if (router != NULL) ggs_weight_ring_load(s, router);
        }
    }
    struct ggs_stream_run * run = &s->run;
    run->n_order = run->n_outcomes = 0;
    run->first_exchanged = run->end_exchanged = 0;
    __atomic_store_n(&run->ready, 0, __ATOMIC_RELAXED);
    for (size_t i = 0; i < s->uses.n; i++) {
        if (s->uses.uses[i].routing < 0) run->order[run->n_order++] = s->uses.uses[i].weight;
    }
    ggs_weight_ring_begin(s, run->order, run->n_order);
    if (s->uses.n_routings > 0) ggs_expert_slots_foresee(s, &s->uses.routings[0]);
    return true;
}

// If streaming was given up meanwhile, the memory of weights goes to the page cache, which provides
// them from here on.
static void end_run(struct ggs_stream * s) {
    s->run.active = false;
    if (s->run.forget || s->state == GGS_STREAM_OFF) ggs_stream_forget(s);
    s->run.forget = false;
    pthread_cond_broadcast(&s->arrived); // wakes threads that wait until no graph runs
}

bool ggs_stream_enter(struct ggs_stream * s, const struct abi_graph * graph) {
    int state = ggs_stream_now(s);
    if (state == GGS_STREAM_OFF || state == GGS_STREAM_ASLEEP || graph == NULL || graph->n_nodes <= 0) return false;
    if (state == GGS_STREAM_PASSIVE && !ggs_budget_is_time(s)) return false;
    ggs_stream_lock(s);
    bool ok = !s->run.active && s->draining == 0;
    if (ok && s->state == GGS_STREAM_PASSIVE && ggs_budget_outgrown(s)) ggs_stream_set_state(s, GGS_STREAM_ON);
    if (ok && s->state == GGS_STREAM_ON) {
        s->run.active = true; // waiting for reads releases the lock
        __atomic_store_n(&s->run.thread, (uint64_t) pthread_self(), __ATOMIC_RELAXED);
        ok = prepare(s, graph);
        if (!ok) end_run(s);
    } else {
        ok = false;
    }
    if (ok) {
        s->counts.runs++;
        s->run.began         = s->world.clock();
        s->run.waited_before = s->counts.wait_ns;
        ggs_messages_run_begin(s);
        __atomic_store_n(&s->running, true, __ATOMIC_RELEASE);
    }
    ggs_stream_unlock(s);
    return ok;
}

void ggs_stream_leave(struct ggs_stream * s) {
    ggs_stream_lock(s);
    end_ops(s);
    ggs_expert_slots_end(s);
    ggs_weight_ring_end(s);
    uint64_t took = s->world.clock() - s->run.began;
    s->counts.run_ns += took;
    ggs_predict_end_run(s, s->counts.wait_ns - s->run.waited_before, took);
    ggs_messages_run_end(s);
    if (s->run.n_outcomes > 0) s->world.record_uses(s->run.outcomes, s->run.n_outcomes);
    __atomic_store_n(&s->running, false, __ATOMIC_RELEASE);
    end_run(s);
    ggs_fill_idle(s);
    ggs_stream_unlock(s);
}
