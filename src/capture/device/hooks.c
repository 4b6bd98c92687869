// The engine's functions that tell what a device's backend does. See device.h.
#include "capture/device/device.h"
#include "capture/hooks/hook.h"

// In their loops over a graph, backends of devices ask this of each node.
EXPORT bool ggml_is_empty(const struct abi_tensor * node);
EXPORT bool ggml_is_empty(const struct abi_tensor * node) {
    REAL(ggml_is_empty);
    if (ggs_device_current != NULL && ggs_device_current->followed) ggs_device_node(node, CALLER);
    return real(node);
}

// An event stands for everything that was submitted before it was recorded; who waits for it has those results.
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

EXPORT void ggml_backend_synchronize(void * backend);
EXPORT void ggml_backend_synchronize(void * backend) {
    REAL(ggml_backend_synchronize);
    real(backend);
    ggs_device_results(backend);
}
