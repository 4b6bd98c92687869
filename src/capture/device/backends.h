// The engine's backend objects that have computed something: their kind and the device behind them.
// Thread-safe.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/device/backend-kind.h"

struct ggs_backend {
    const struct ggs_backend_kind * kind; // NULL for an unknown device
    uint32_t                        type; // enum ggs_device_type, 0 if not known
};

// Writes the device to the journal when the object is seen for the first time. `name` is the
// object's.
struct ggs_backend ggs_backend_get(void * object, const char * name);
// False also for an object that ggs_backend_get has not seen.
bool ggs_backend_is_gpu(void * object);
// The object is freed: another may come to its address.
void ggs_backend_remove(const void * object);
// The recording is over: the next one is told of all devices.
void ggs_backends_reset(bool forked);
