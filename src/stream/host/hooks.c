// Hooks of engine functions. Each finds the real function and forwards everything.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/ggml-abi.h"
#include "preload/hook.h"
#include "stream/host/library.h"

EXPORT bool ggml_cpu_extra_compute_forward(struct abi_params * params, struct abi_tensor * node);
EXPORT bool ggml_cpu_extra_compute_forward(struct abi_params * params, struct abi_tensor * node) {
    REAL(ggml_cpu_extra_compute_forward);
    struct ggs_stream_library * library = ggs_stream_library_now();
    if (library != NULL) ggs_stream_op(library->stream, node);
    return real(params, node);
}

// True if this is the engine whose ops are known. A process may have another release too, with
// other op numbers.
static bool is_known_engine(struct ggs_stream_library * library, void * compute, const void * caller) {
    if (__atomic_load_n(&library->computes, __ATOMIC_RELAXED) == compute) return true;
    if (ggs_resolve_name("ggml_op_name", caller) != (void *) ggs_engine.op_name) return false;
    __atomic_store_n(&library->computes, compute, __ATOMIC_RELAXED);
    return true;
}

EXPORT int ggml_graph_compute(struct abi_graph * graph, void * plan);
EXPORT int ggml_graph_compute(struct abi_graph * graph, void * plan) {
    REAL(ggml_graph_compute);
    const void *                caller  = ggscope_caller; // the engine, also if the capture library is the caller
    struct ggs_stream_library * library = ggs_stream_library_now();
    bool streamed = ggs_stream_library_wake(caller) && is_known_engine(library, (void *) real, caller) &&
                    ggs_stream_enter(library->stream, graph);
    int status = real(graph, plan);
    if (streamed) ggs_stream_leave(library->stream);
    return status;
}

EXPORT void * ggml_backend_buft_alloc_buffer(void * type, size_t size);
EXPORT void * ggml_backend_buft_alloc_buffer(void * type, size_t size) {
    REAL(ggml_backend_buft_alloc_buffer);
    void *              buffer = real(type, size);
    struct ggs_stream * stream = ggs_stream_of_library();
    if (buffer != NULL && size > 0 && stream != NULL) {
        // Device memory has addresses too, but no pages behind them.
        bool (*is_host)(void *) =
            (bool (*)(void *)) ggs_resolve_name("ggml_backend_buffer_is_host", (const void *) real);
        void * (*base)(void *) =
            (void * (*) (void *) ) ggs_resolve_name("ggml_backend_buffer_get_base", (const void *) real);
        if (base != NULL && is_host != NULL && is_host(buffer)) ggs_stream_buffer(stream, buffer, base(buffer), size);
    }
    return buffer;
}

EXPORT void ggml_backend_tensor_set(void * tensor, const void * data, size_t offset, size_t size);
EXPORT void ggml_backend_tensor_set(void * tensor, const void * data, size_t offset, size_t size) {
    REAL(ggml_backend_tensor_set);
    struct ggs_stream * stream = ggs_stream_of_library();
    if (stream != NULL) ggs_stream_copied(stream, data, size);
    real(tensor, data, offset, size);
}

EXPORT void ggml_backend_buffer_free(void * buffer);
EXPORT void ggml_backend_buffer_free(void * buffer) {
    REAL(ggml_backend_buffer_free);
    struct ggs_stream * stream = ggs_stream_of_library();
    if (stream != NULL) ggs_stream_buffer_gone(stream, buffer);
    real(buffer);
}

// Hides the CPU's preferred layouts from the engine: it would copy weights into memory that cannot
// be given up.
EXPORT void * ggml_backend_reg_get_proc_address(void * registry, const char * name);
EXPORT void * ggml_backend_reg_get_proc_address(void * registry, const char * name) {
    REAL(ggml_backend_reg_get_proc_address);
    struct ggs_stream * stream   = ggs_stream_of_library();
    void *              function = real(registry, name);
    if (name == NULL || strcmp(name, "ggml_backend_dev_get_extra_bufts") != 0 || stream == NULL || function == NULL)
        return function;
    // The layout for AMX takes up to 38 bytes for 34 in the file.
    bool amx = ggs_resolve_name("_Z28ggml_backend_amx_buffer_typev", function) != NULL;
    return ggs_stream_fits_early(stream, amx ? 8 : 0) ? function : NULL;
}
