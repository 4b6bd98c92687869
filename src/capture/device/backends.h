// The engine's backend objects that have computed something: their kind and their device.
// Thread-safe.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/device/backend-kind.h"

struct ggs_backend {
    const struct ggs_backend_kind * kind; // NULL for an unknown device
    uint32_t                        type; // enum ggs_device_type, 0 if unknown
};

// Writes the device to the journal on first use. `name` is the object's.
struct ggs_backend ggs_backend_get(void * object, const char * name);
// False also for an object without an earlier ggs_backend_get.
bool ggs_backend_is_gpu(void * object);
// For an object that is freed: another one may get its address.
void ggs_backend_remove(const void * object);
// For the end of a recording: the next one gets all devices again.
void ggs_backends_reset(bool forked);
