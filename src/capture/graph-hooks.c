// The engine's functions that compute a graph, on any backend, and that schedule one over backends.
#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "capture/device/device.h"
#include "capture/graph-run.h"
#include "capture/graphs.h"
#include "capture/journal.h"
#include "capture/memory/residency.h"
#include "capture/values/device-values.h"
#include "capture/values/plan.h"
#include "capture/values/values.h"
#include "capture/window.h"
#include "preload/ggml-abi.h"
#include "preload/hook.h"
#include "trace/spool.h"

typedef int (*compute_function)(void * computer, struct abi_graph * graph);

static int compute(compute_function real, void * backend, struct abi_graph * graph, const void * caller) {
    ggs_graph_run_enter(graph, backend, caller);
    ggs_device_begin(backend, graph);
    int status =
        ggs_values_wanted && ggs_values_on_device() ? ggs_values_compute(real, backend, graph) : real(backend, graph);
    ggs_device_end();
    ggs_graph_run_leave(graph, status);
    return status;
}

EXPORT int ggml_backend_graph_compute_async(void * backend, struct abi_graph * graph) {
    REAL(ggml_backend_graph_compute_async);
    return compute(real, backend, graph, CALLER);
}

EXPORT int ggml_backend_graph_compute(void * backend, struct abi_graph * graph) {
    REAL(ggml_backend_graph_compute);
    return compute(real, backend, graph, CALLER);
}

EXPORT uint64_t ggml_graph_next_uid(void) {
    REAL(ggml_graph_next_uid);
    uint64_t uid = real();
    ggs_graphs_numbered((const void *) real, uid);
    return uid;
}

void ggs_schedule_enter(const void * scheduler, const struct abi_graph * graph, const void * caller) {
    bool awake = ggs_capture_wake(caller);
    if (!ggs_window_enter() || ggs_in.schedule != 0 || !awake) return;
    struct ggs_journal_number numbers = {{0, (uint64_t) scheduler, ggs_in.decode, (uint64_t) graph->n_nodes}};
    struct ggs_piece          piece   = {&numbers, sizeof(numbers)};
    if (ggs_journal_append_next(GGS_JOURNAL_SCHEDULE, &piece, 1, &numbers.value[0], GGS_COUNT_SCHEDULES) == 0)
        ggs_in.schedule = numbers.value[0];
    if (ggs_values_wanted) ggs_values_plan_schedule(graph);
}

void ggs_schedule_leave(bool outermost, int status) {
    if (outermost && ggs_in.schedule != 0) {
        if (ggs_capture_recording())
            ggs_journal_numbers(GGS_JOURNAL_SCHEDULE_END, ggs_in.schedule, (uint64_t) (int64_t) status, 0, 0, NULL);
        ggs_in.schedule = 0;
        ggs_residency_emit(GGS_MOMENT_GRAPH);
    }
    ggs_window_leave();
}

static int schedule(compute_function real, void * scheduler, struct abi_graph * graph, const void * caller) {
    bool outermost = ggs_in.schedule == 0;
    ggs_schedule_enter(scheduler, graph, caller);
    int status = real(scheduler, graph);
    ggs_schedule_leave(outermost, status);
    return status;
}

EXPORT int ggml_backend_sched_graph_compute_async(void * scheduler, struct abi_graph * graph) {
    REAL(ggml_backend_sched_graph_compute_async);
    return schedule(real, scheduler, graph, CALLER);
}

EXPORT int ggml_backend_sched_graph_compute(void * scheduler, struct abi_graph * graph) {
    REAL(ggml_backend_sched_graph_compute);
    return schedule(real, scheduler, graph, CALLER);
}
