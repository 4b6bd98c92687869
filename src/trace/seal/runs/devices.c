#include "trace/seal/runs/devices.h"

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
    bool              cpu       = strcmp(copy, "CPU") == 0;
    struct ggs_device row       = {.device  = devices->n + 1,
                                   .name    = name,
                                   .type    = cpu ? GGS_DEVICE_CPU : GGS_DEVICE_UNKNOWN,
                                   .backend = name,
                                   .seen    = cpu ? GGS_SEEN_OPS : GGS_SEEN_NOTHING};
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

void ggs_devices_describe(struct ggs_devices * devices, const struct ggs_journal_device * device, const char * text,
                          size_t length) {
    const char * newline = memchr(text, '\n', length);
    size_t       name    = newline == NULL ? length : (size_t) (newline - text);
    uint64_t     number  = ggs_devices_number(devices, text, name, false);
    if (number == 0) return;
    struct ggs_device * row = &devices->rows[number - 1];
    row->memory             = device->memory;
    row->type               = device->type < GGS_DEVICE_COUNT ? device->type : GGS_DEVICE_UNKNOWN;
    if (newline != NULL) row->description = ggs_writer_string(devices->writer, newline + 1, length - name - 1);
}

void ggs_devices_seen(struct ggs_devices * devices, uint64_t device, enum ggs_seen seen) {
    if (device > 0 && device <= devices->n && devices->rows[device - 1].seen < seen)
        devices->rows[device - 1].seen = seen;
}

void ggs_devices_finish(struct ggs_devices * devices) {
    for (size_t i = 0; i < devices->n; i++) ggs_writer_append(devices->writer, GGS_TABLE_DEVICES, &devices->rows[i]);
}
