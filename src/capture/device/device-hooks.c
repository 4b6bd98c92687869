// The engine's functions that show what the backend of a device does. See device.h.
#include "capture/capture.h"
#include "capture/device/device.h"
#include "preload/hook.h"

static struct ggs_hook is_empty = GGS_HOOK(is_empty, "ggml_is_empty");

static __attribute__((noinline)) bool follow_node(const struct abi_tensor * node, const void * caller) {
    bool (*real)(const struct abi_tensor *) = (bool (*)(const struct abi_tensor *)) ggs_resolve(&is_empty, caller);
    if (ggs_device_followed != NULL && !ggs_device_node(node, caller)) return true;
    return real(node);
}

// Backends of devices call this for each node in their loops over a graph, also in runs that are
// not followed, where it costs two comparisons and a jump. It calls no other function, and the
// stream library does not hook it, so its caller does not matter.
EXPORT bool ggml_is_empty(const struct abi_tensor * node);
EXPORT bool ggml_is_empty(const struct abi_tensor * node) {
    const struct ggs_binding * binding = __atomic_load_n(&is_empty.last, __ATOMIC_RELAXED);
    bool                       known   = ggs_binding_of(binding, CALLER);
    if (!LIKELY(known)) { // the CPU's library and the one below it alternate
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

// An event covers everything that was submitted before it was recorded. Waiting for it waits for
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
