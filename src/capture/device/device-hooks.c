// The engine's functions that tell what a device's backend does. See device.h.
#include "capture/capture.h"
#include "capture/device/device.h"
#include "preload/hook.h"

static struct ggs_hook is_empty = GGS_HOOK(is_empty, "ggml_is_empty");

static __attribute__((noinline)) bool follow_node(const struct abi_tensor * node, const void * caller) {
    bool (*real)(const struct abi_tensor *) = (bool (*)(const struct abi_tensor *)) ggs_resolve(&is_empty, caller);
    if (ggs_device_followed != NULL && !ggs_device_node(node, caller)) return true;
    return real(node);
}

// In their loops over a graph, backends of devices ask this of each node, also in runs that are not
// followed: then it is two comparisons and a jump. It calls no other function and our other library
// does not take it over, so nobody asks who called it.
EXPORT bool ggml_is_empty(const struct abi_tensor * node);
EXPORT bool ggml_is_empty(const struct abi_tensor * node) {
    const struct ggs_binding * binding = __atomic_load_n(&is_empty.last, __ATOMIC_RELAXED);
    bool                       known   = ggs_binding_of(binding, CALLER);
    if (!LIKELY(known)) { // the CPU's library and the one below it take turns
        const struct ggs_binding * last = binding;
        binding                         = __atomic_load_n(&is_empty.before, __ATOMIC_RELAXED);
        known                           = ggs_binding_of(binding, CALLER);
        if (known) {
            __atomic_store_n(&is_empty.before, last, __ATOMIC_RELAXED);
            __atomic_store_n(&is_empty.last, binding, __ATOMIC_RELAXED);
        }
    }
    if (LIKELY(known) && LIKELY(ggs_device_followed == NULL))
        return ((bool (*)(const struct abi_tensor *)) binding->function)(node);
    return follow_node(node, CALLER);
}

// An event stands for everything that was submitted before it was recorded; who waits for it has
// those results.
EXPORT void ggml_backend_event_record(void * event, void * backend);
EXPORT void ggml_backend_event_record(void * event, void * backend) {
    REAL(ggml_backend_event_record);
    real(event, backend);
    ggs_device_event_record(event, backend);
}

EXPORT void ggml_backend_event_synchronize(void * event);
EXPORT void ggml_backend_event_synchronize(void * event) {
    REAL(ggml_backend_event_synchronize);
    real(event);
    ggs_device_event_results(event);
}

EXPORT void ggml_backend_event_wait(void * backend, void * event);
EXPORT void ggml_backend_event_wait(void * backend, void * event) {
    REAL(ggml_backend_event_wait);
    real(backend, event);
    ggs_device_event_wait(backend, event);
}

EXPORT void ggml_backend_free(void * backend);
EXPORT void ggml_backend_free(void * backend) {
    REAL(ggml_backend_free);
    struct ggs_device_run * runs = ggs_capture_recording() ? ggs_device_remove_begin(backend) : NULL;
    real(backend);
    ggs_device_remove_end(runs);
}

EXPORT void ggml_backend_synchronize(void * backend);
EXPORT void ggml_backend_synchronize(void * backend) {
    REAL(ggml_backend_synchronize);
    real(backend);
    ggs_device_results(backend);
}
