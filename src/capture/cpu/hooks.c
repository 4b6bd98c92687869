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
#include "capture/window.h"

// ---- ops ----

// Outside of windows: no op of any thread belongs to a graph run that is recorded.
static inline bool no_run(void) {
    return ggs_window_is_closed() && atomic_load_explicit(&ggs_slots_taken, memory_order_relaxed) == 0;
}

EXPORT bool ggml_cpu_extra_compute_forward(struct abi_params * params, struct abi_tensor * node) {
    REAL(ggml_cpu_extra_compute_forward);
    if (!LIKELY(ggs_capture_recording()) || no_run()) {
        ggs_op_forget();
        return real(params, node);
    }
    if (ggs_prove_active()) ggs_prove_thread();
    ggs_op_begin(params, node, 0);
    bool computed = real(params, node);
    if (computed) {
        ggs_op_mark_extra();
        if (ggs_barrier_hidden()) ggs_op_ended(); // it is done here, and its barrier will not be seen
    }
    return computed;
}

EXPORT void ggml_compute_forward_rms_norm_mul_fused(struct abi_params * params, struct abi_tensor * norm,
                                                    struct abi_tensor * mul) {
    REAL(ggml_compute_forward_rms_norm_mul_fused);
    if (ggs_prove_active()) ggs_prove_thread();
    if (LIKELY(ggs_capture_recording()) && !no_run())
        ggs_op_begin(params, norm, 1);
    else
        ggs_op_forget();
    real(params, norm, mul);
}

// All threads of the run come through here, and all of them twice: whether they do must not depend on the thread.
static void proving_barrier(void (*real)(void *), void * pool) {
    uint64_t enter = ggs_ticks_now();
    uint32_t run, node;
    real(pool);
    ggs_op_current(&run, &node);
    ggs_prove_tell(run, node);
    real(pool);
    if (ggs_op_in_flight()) ggs_op_barrier(enter, ggs_ticks_now());
}

EXPORT void ggml_barrier(void * pool) {
    REAL(ggml_barrier);
    if (ggs_prove_active()) {
        proving_barrier(real, pool);
        return;
    }
    if (!LIKELY(ggs_op_in_flight())) {
        real(pool);
        return;
    }
    uint64_t enter = ggs_ticks_now();
    real(pool);
    ggs_op_barrier(enter, ggs_ticks_now());
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
    bool     alone   = plan != NULL && plan->n_threads == 1;
    bool     proving = ggs_prove_wanted && slot != NULL && (!hidden || alone) && ggs_prove_begin();
    int      status  = real(graph, plan);
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
