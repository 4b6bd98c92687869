// The functions that stand in for those of the CPU backend.
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/cpu/barrier.h"
#include "capture/cpu/ops.h"
#include "capture/device/device.h"
#include "capture/graph-run.h"
#include "capture/hooks/hook.h"
#include "capture/journal.h"
#include "capture/memory/prove.h"

// ---- ops ----

// Hooks of ops have a short way for ops that follow on each other, with nothing to be saved and restored for the rest.

static struct ggs_hook forward_hook = GGS_HOOK(forward_hook, "ggml_cpu_extra_compute_forward");
static struct ggs_hook fused_hook   = GGS_HOOK(fused_hook, "ggml_compute_forward_rms_norm_mul_fused");
static struct ggs_hook barrier_hook = GGS_HOOK(barrier_hook, "ggml_barrier");

// Is the short way right for a call of this hook, whose real function is then last->function?
static inline bool is_usual(const struct ggs_binding * last, const void * caller) {
    return LIKELY(ggs_op_self.rare == 0) && LIKELY(ggs_binding_of(last, caller));
}

// The long way. Returns the real function.
static __attribute__((noinline)) void * begin(struct ggs_hook * hook, const void * caller, struct abi_params * params,
                                              struct abi_tensor * node, bool fused) {
    void * real = ggs_resolve(hook, caller);
    if (ggs_prove_active()) ggs_prove_thread();
    if (!ggs_capture_recording()) {
        ggs_op_forget();
    } else if (!ggs_op_begin_next(params, node, fused)) {
        ggs_op_begin_anew(params, node, fused);
        // What the short way leaves out.
        if (ggs_ticks_are_ns || ggs_prove_active() || ggs_resolve_other[1] != 0) ggs_op_self.rare |= GGS_OP_UNUSUAL;
    }
    return real;
}

static __attribute__((noinline)) bool computed_by_extra(void) {
    ggs_op_mark_extra();
    if (ggs_barrier_hidden()) ggs_op_ended(); // it is done here, and its barrier will not be seen
    return true;
}

EXPORT bool ggml_cpu_extra_compute_forward(struct abi_params * params, struct abi_tensor * node) {
    const struct ggs_binding * last = __atomic_load_n(&forward_hook.last, __ATOMIC_RELAXED);
    void *                     real = last->function;
    if (is_usual(last, CALLER) && LIKELY(ggs_op_begin_next(params, node, false)))
        ggs_resolve_last = real;
    else
        real = begin(&forward_hook, CALLER, params, node, false);
    if (LIKELY(!((__typeof__(&ggml_cpu_extra_compute_forward)) real)(params, node))) return false;
    return computed_by_extra();
}

EXPORT void ggml_compute_forward_rms_norm_mul_fused(struct abi_params * params, struct abi_tensor * norm,
                                                    struct abi_tensor * mul) {
    const struct ggs_binding * last = __atomic_load_n(&fused_hook.last, __ATOMIC_RELAXED);
    void *                     real = last->function;
    if (is_usual(last, CALLER) && LIKELY(ggs_op_begin_next(params, norm, true)))
        ggs_resolve_last = real;
    else
        real = begin(&fused_hook, CALLER, params, norm, true);
    ((__typeof__(&ggml_compute_forward_rms_norm_mul_fused)) real)(params, norm, mul);
}

// All threads of the run come through here, and all of them twice: whether they do must not depend on the thread.
static void proving_barrier(void (*real)(void *), void * pool) {
    uint64_t enter = ggs_ticks_now();
    uint32_t run, node;
    real(pool);
    ggs_op_current(&run, &node);
    ggs_prove_tell(run, node);
    real(pool);
    if (ggs_op_in_flight()) ggs_op_barrier(enter, ggs_ticks_now(), ggs_op_self.rare);
}

static __attribute__((noinline)) void barrier(void * pool, const void * caller) {
    void (*real)(void *) = (void (*)(void *)) ggs_resolve(&barrier_hook, caller);
    if (ggs_prove_active()) {
        proving_barrier(real, pool);
        return;
    }
    if (!ggs_op_in_flight()) {
        real(pool);
        return;
    }
    uint64_t enter = ggs_ticks_now();
    real(pool);
    ggs_op_barrier(enter, ggs_ticks_now(), ggs_op_self.rare);
}

EXPORT void ggml_barrier(void * pool) {
    const struct ggs_binding * last = __atomic_load_n(&barrier_hook.last, __ATOMIC_RELAXED);
    if (!is_usual(last, CALLER)) {
        barrier(pool, CALLER);
        return;
    }
    uint64_t enter = ggs_ticks_counter();
    ((void (*)(void *)) last->function)(pool);
    ggs_op_barrier(enter, ggs_ticks_counter(), 0);
}

// ---- graphs ----

// Reached by every graph that the CPU computes, directly or through a backend: here the threads are known.
EXPORT int ggml_graph_compute(struct abi_graph * graph, struct abi_plan * plan) {
    REAL(ggml_graph_compute);
    ggs_graph_run_enter(graph, NULL, CALLER);
    ggs_device_cancel(); // the backend is the CPU's
    struct ggs_slot * slot   = NULL;
    uint64_t          lost   = 0;
    unsigned          reason = GGS_LOSS_SPACE;
    bool              hidden = ggs_barrier_is_hidden((void *) real);
    if (ggs_in.run != 0 && plan != NULL && ggs_in.graph != NULL && ggs_in.graph->n_nodes == (uint32_t) graph->n_nodes) {
        slot = ggs_slot_open((uint32_t) ggs_in.run, graph, ggs_in.graph, plan->threadpool, plan->n_threads);
        if (slot == NULL && errno == EBUSY)
            reason = GGS_LOSS_SLOTS;
        else if (slot == NULL)
            ggs_capture_stop_full();
        ggs_journal_numbers(GGS_JOURNAL_RUN_THREADS, ggs_in.run, (uint64_t) plan->n_threads, ggs_slot_number(slot),
                            hidden ? GGS_RUN_NO_WAITS : 0, NULL);
        if (slot == NULL) lost = (uint64_t) graph->n_nodes * (uint64_t) plan->n_threads;
    } else if (ggs_in.run == 0 && ggs_capture_full() && graph != NULL && plan != NULL) {
        lost = (uint64_t) graph->n_nodes * (uint64_t) plan->n_threads;
    }
    struct ggs_barrier_watch watch;
    if (slot != NULL) ggs_op_own(slot);
    uint64_t begin   = ggs_ticks_now();
    bool     watched = slot != NULL && ggs_barrier_watch(&watch, (void *) real, plan);
    if (watched) slot->watched = true;
    bool alone   = plan != NULL && plan->n_threads == 1;
    bool proving = ggs_prove_wanted && slot != NULL && (!hidden || alone) && ggs_prove_begin();
    int  status  = real(graph, plan);
    if (proving) ggs_prove_end();
    if (watched) ggs_in.flags |= ggs_barrier_unwatch(&watch, plan) ? GGS_RUN_NO_WAITS : 0;
    if (proving && !alone && (ggs_in.flags & GGS_RUN_NO_WAITS) != 0) ggs_prove_refuse();
    if (slot != NULL) {
        ggs_op_own(NULL);
        lost = ggs_slot_close(slot);
    }
    if (lost > 0) ggs_graph_run_lost(reason, lost, begin);
    ggs_graph_run_leave(graph, status);
    return status;
}
