// Hooks of the CPU backend's functions.
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/cpu/barrier.h"
#include "capture/cpu/ops.h"
#include "capture/device/device.h"
#include "capture/graph-run.h"
#include "capture/journal.h"
#include "capture/memory/touched-pages.h"
#include "capture/values/values.h"
#include "preload/hook.h"

// ---- ops ----

// The hooks of ops have a short way for an op that follows on the one before it, in which no
// registers are saved for the long way.

static struct ggs_hook forward_hook = GGS_HOOK(forward_hook, "ggml_cpu_extra_compute_forward");
static struct ggs_hook fused_hook   = GGS_HOOK(fused_hook, "ggml_compute_forward_rms_norm_mul_fused");
static struct ggs_hook barrier_hook = GGS_HOOK(barrier_hook, "ggml_barrier");

// True if the short way is right for a call of this hook; its real function is then last->function.
static inline bool is_usual(const struct ggs_binding * last, const void * caller) {
    return LIKELY(ggs_op_self.unusual == 0) && LIKELY(ggs_binding_of(last, caller));
}

// The thread has left a barrier. What it was in may have ended meanwhile, recording and all.
static inline void end_barrier(uint64_t enter, uint64_t leave, uint32_t unusual) {
    ggs_op_enter();
    if (LIKELY(ggs_op_in_flight())) ggs_op_barrier(enter, leave, unusual);
    ggs_op_leave();
}

// Values are recorded of the run that the calling thread is attached to. Of a run that has them
// every op of every thread takes the long way.
static bool has_values(void) {
    return ggs_values_wanted && ggs_op_self.slot != NULL && ggs_op_self.slot->values != NULL;
}

static _Thread_local bool meeting; // for ourselves: the barrier is not the op's

static bool compute_values(struct abi_params * params, struct abi_tensor * node, const struct abi_tensor * output,
                           const void * caller) {
    void (*real)(void *) = (void (*)(void *)) ggs_resolve(&barrier_hook, caller);
    if (real == NULL) return false; // it is inlined wherever it is needed, and there is none to call
    meeting    = true;
    bool apart = ggs_values_op(params, node, output, real);
    meeting    = false;
    return apart;
}

// The long way. Returns the real function. `output` has the result: `node`, or what it is fused
// with.
static __attribute__((noinline)) void * begin(struct ggs_hook * hook, const void * caller, struct abi_params * params,
                                              struct abi_tensor * node, const struct abi_tensor * output) {
    bool fused = node != output, apart = false;
    if (ggs_values_wanted) apart = compute_values(params, node, output, caller);
    if (apart) ggs_op_self.at = 0; // what it took belongs to no op
    void * real = ggs_resolve(hook, caller);
    if (ggs_touched_pages_active()) ggs_touched_pages_thread();
    ggs_op_enter();
    if (!ggs_capture_recording()) {
        ggs_op_clear();
    } else if (apart || !ggs_op_begin_next(params, node, fused)) {
        ggs_op_begin_anew(params, node, fused);
        // What the short way does not handle.
        if (ggs_ticks_are_ns || ggs_touched_pages_active() || ggs_resolve_other[1] != 0 || has_values())
            ggs_op_self.unusual |= GGS_OP_HOOKS_DIFFER;
    }
    ggs_op_leave();
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
        real = begin(&forward_hook, CALLER, params, node, node);
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
        real = begin(&fused_hook, CALLER, params, norm, mul);
    ((__typeof__(&ggml_compute_forward_rms_norm_mul_fused)) real)(params, norm, mul);
}

// Every thread of the run must take this way, and meet twice: the choice must not depend on the
// thread.
static void proving_barrier(void (*real)(void *), void * pool) {
    uint64_t enter = ggs_ticks_now();
    uint32_t run, node;
    real(pool);
    ggs_op_current(&run, &node);
    ggs_touched_pages_emit(run, node);
    real(pool);
    end_barrier(enter, ggs_ticks_now(), ggs_op_self.unusual);
}

// True if the op under way is of a run that goes on. OpenMP's threads meet at a run's begin, too.
static bool is_of_run(void) {
    const struct ggs_op_state * self = &ggs_op_self;
    return ggs_op_in_flight() && self->slot != NULL &&
           atomic_load_explicit(&self->slot->number, memory_order_relaxed) == self->run;
}

void ggs_barrier_through(void (*real)(void * data), void * data) {
    if (ggs_touched_pages_active()) {
        proving_barrier(real, data);
        return;
    }
    if (meeting || !is_of_run()) {
        real(data);
        return;
    }
    uint64_t enter = ggs_ticks_now();
    real(data);
    end_barrier(enter, ggs_ticks_now(), ggs_op_self.unusual);
}

static __attribute__((noinline)) void barrier(void * pool, const void * caller) {
    ggs_barrier_through((void (*)(void *)) ggs_resolve(&barrier_hook, caller), pool);
}

EXPORT void ggml_barrier(void * pool) {
    const struct ggs_binding * last = __atomic_load_n(&barrier_hook.last, __ATOMIC_RELAXED);
    if (!is_usual(last, CALLER)) {
        barrier(pool, CALLER);
        return;
    }
    uint64_t enter = ggs_ticks_counter();
    ((void (*)(void *)) last->function)(pool);
    end_barrier(enter, ggs_ticks_counter(), 0);
}

#ifdef __x86_64__

// Around what may use vector registers.
struct vectors {
    _Alignas(64) uint8_t area[4096];
};
static void save_vectors(struct vectors * vectors) {
    for (unsigned i = 512; i < 576; i++) vectors->area[i] = 0; // the header must be zero
    __asm__ volatile("xsave64 (%0)" : : "r"(vectors->area), "a"(0xe6), "d"(0) : "memory");
}
static void restore_vectors(const struct vectors * vectors) {
    __asm__ volatile("xrstor64 (%0)" : : "r"(vectors->area), "a"(0xe6), "d"(0) : "memory");
}

static __attribute__((noinline)) void barrier_with_vectors(void * pool, const void * caller) {
    struct vectors vectors;
    save_vectors(&vectors);
    barrier(pool, caller);
    restore_vectors(&vectors);
}

static __attribute__((noinline)) void unusual_with_vectors(uint64_t enter, uint64_t leave) {
    struct vectors vectors;
    save_vectors(&vectors);
    ggs_op_barrier_unusual(enter, leave);
    restore_vectors(&vectors);
}

// This file is compiled without vector registers: the short way leaves them alone.
__attribute__((no_caller_saved_registers, force_align_arg_pointer)) void ggs_barrier_preserving(void * pool) {
    const struct ggs_binding * last = __atomic_load_n(&barrier_hook.last, __ATOMIC_RELAXED);
    if (!is_usual(last, CALLER)) {
        barrier_with_vectors(pool, CALLER);
        return;
    }
    uint64_t enter = ggs_ticks_counter();
    ((void (*)(void *)) last->function)(pool);
    uint64_t leave = ggs_ticks_counter();
    ggs_op_enter();
    if (LIKELY(ggs_op_in_flight()) && !ggs_op_barrier_usual(enter, leave, 0)) unusual_with_vectors(enter, leave);
    ggs_op_leave();
}

#endif

// ---- graphs ----

// Every graph that the CPU computes comes here, directly or through a backend, and its threads are
// known.
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
    if (slot != NULL) ggs_op_set_opened(slot);
    uint64_t begin   = ggs_ticks_now();
    bool     watched = slot != NULL && ggs_barrier_watch(&watch, (void *) real, plan);
    if (watched) slot->watched = true;
    bool alone   = plan != NULL && plan->n_threads == 1;
    bool proving = ggs_touched_pages_wanted && slot != NULL && (!hidden || alone) && ggs_touched_pages_begin();
    if (ggs_values_wanted && slot != NULL)
        ggs_values_begin(slot, graph, ggs_in.graph, ggs_in.schedule != 0 ? ggs_in.schedule : ggs_in.run);
    int status = real(graph, plan);
    if (ggs_values_wanted && slot != NULL) ggs_values_end(slot);
    if (proving) ggs_touched_pages_end();
    if (watched) ggs_in.flags |= ggs_barrier_unwatch(&watch, plan) ? GGS_RUN_NO_WAITS : 0;
    if (proving && !alone && (ggs_in.flags & GGS_RUN_NO_WAITS) != 0) ggs_touched_pages_refuse();
    if (slot != NULL) {
        ggs_op_set_opened(NULL);
        lost = ggs_slot_close(slot);
    }
    if (lost > 0) ggs_graph_run_lost(reason, lost, begin);
    ggs_graph_run_leave(graph, status);
    return status;
}
