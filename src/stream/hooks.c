// The engine's functions that are stood in for. Each finds the real one and passes everything on.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "capture/ggml-abi.h"
#include "capture/hooks/hook.h"
#include "stream/budget.h"
#include "stream/disk/files.h"
#include "stream/memory/memory.h"
#include "stream/run.h"
#include "stream/stream.h"

EXPORT bool ggml_cpu_extra_compute_forward(struct abi_params * params, struct abi_tensor * node);
EXPORT bool ggml_cpu_extra_compute_forward(struct abi_params * params, struct abi_tensor * node) {
    REAL(ggml_cpu_extra_compute_forward);
    ggs_run_op(node);
    return real(params, node);
}

// Is this the engine whose ops are known? A process may hold another release too, with other numbers for them.
static bool is_known_engine(void * compute, const void * caller) {
    static void * checked; // the last that was found to be
    if (__atomic_load_n(&checked, __ATOMIC_RELAXED) == compute) return true;
    if (ggs_resolve_name("ggml_op_name", caller) != (void *) ggs_engine.op_name) return false;
    __atomic_store_n(&checked, compute, __ATOMIC_RELAXED);
    return true;
}

EXPORT int ggml_graph_compute(struct abi_graph * graph, void * plan);
EXPORT int ggml_graph_compute(struct abi_graph * graph, void * plan) {
    REAL(ggml_graph_compute);
    const void * caller   = ggscope_caller; // the engine, also if the capture library called us
    bool         streamed = ggs_stream_wake(caller) && is_known_engine((void *) real, caller) && ggs_run_enter(graph);
    int          status   = real(graph, plan);
    if (streamed) ggs_run_leave();
    return status;
}

EXPORT void * ggml_backend_buft_alloc_buffer(void * type, size_t size);
EXPORT void * ggml_backend_buft_alloc_buffer(void * type, size_t size) {
    REAL(ggml_backend_buft_alloc_buffer);
    void * buffer = real(type, size);
    if (buffer != NULL && size > 0 && ggs_stream_now() != GGS_STREAM_OFF) {
        // Of a device's memory there are addresses here too, and no pages behind them.
        bool (*is_host)(void *) =
            (bool (*)(void *)) ggs_resolve_name("ggml_backend_buffer_is_host", (const void *) real);
        void * (*base)(void *) =
            (void * (*) (void *) ) ggs_resolve_name("ggml_backend_buffer_get_base", (const void *) real);
        if (base != NULL && is_host != NULL && is_host(buffer)) ggs_memory_buffer(buffer, base(buffer), size);
    }
    return buffer;
}

EXPORT void ggml_backend_buffer_free(void * buffer);
EXPORT void ggml_backend_buffer_free(void * buffer) {
    REAL(ggml_backend_buffer_free);
    if (ggs_stream_now() != GGS_STREAM_OFF) ggs_memory_buffer_gone(buffer);
    real(buffer);
}

// Where the engine asks for the layouts that the CPU would rather have weights in: it would copy them into memory that cannot be given up.
EXPORT void * ggml_backend_reg_get_proc_address(void * registry, const char * name);
EXPORT void * ggml_backend_reg_get_proc_address(void * registry, const char * name) {
    REAL(ggml_backend_reg_get_proc_address);
    if (name != NULL && strcmp(name, "ggml_backend_dev_get_extra_bufts") == 0 && ggs_stream_now() != GGS_STREAM_OFF) {
        uint64_t open = ggs_files_total();
        if (open > 0 && !ggs_budget_fits_early(open)) return NULL;
    }
    return real(registry, name);
}

EXPORT int dlclose(void * handle);
EXPORT int dlclose(void * handle) {
    int result = ggs_resolve_close(handle);
    if (ggs_stream_now() != GGS_STREAM_OFF) ggs_resolve_forget();
    return result;
}
