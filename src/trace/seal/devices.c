#include "trace/seal/devices.h"

#include <stdlib.h>
#include <string.h>

void ggs_devices_release(struct ggs_devices * devices) {
    for (size_t i = 0; i < devices->n; i++) free(devices->names[i]);
    free(devices->names);
    free(devices->rows);
}

uint64_t ggs_devices_number(struct ggs_devices * devices, const char * backend, size_t length, bool host) {
    if (host) backend = "CPU", length = 3;
    uint64_t name = ggs_writer_string(devices->writer, backend, length);
    for (size_t i = 0; i < devices->n; i++)
        if (devices->rows[i].name == name) return devices->rows[i].device;
    char * copy = strndup(backend, length);
    if (copy == NULL || !ggs_array_reserve(devices->rows, devices->rows_capacity, devices->n + 1) ||
        !ggs_array_reserve(devices->names, devices->names_capacity, devices->n + 1)) {
        ggs_writer_fail_memory(devices->writer);
        free(copy);
        return 0;
    }
    bool              cpu = strcmp(copy, "CPU") == 0;
    struct ggs_device row = {.device  = devices->n + 1,
                             .name    = name,
                             .type    = cpu ? GGS_DEVICE_CPU : GGS_DEVICE_UNKNOWN,
                             .backend = name,
                             .seen    = cpu ? GGS_SEEN_OPS : GGS_SEEN_GRAPHS};
    ggs_writer_append(devices->writer, GGS_TABLE_DEVICES, &row);
    devices->names[devices->n]  = copy;
    devices->rows[devices->n++] = row;
    return row.device;
}

const struct ggs_device * ggs_devices_get(const struct ggs_devices * devices, uint64_t device) {
    static const struct ggs_device none;
    return device == 0 || device > devices->n ? &none : &devices->rows[device - 1];
}

const char * ggs_devices_name(const struct ggs_devices * devices, uint64_t device) {
    return device == 0 || device > devices->n ? "" : devices->names[device - 1];
}
