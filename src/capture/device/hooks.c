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

EXPORT void ggml_backend_synchronize(void * backend);
EXPORT void ggml_backend_synchronize(void * backend) {
    REAL(ggml_backend_synchronize);
    real(backend);
    ggs_device_results(backend);
}
