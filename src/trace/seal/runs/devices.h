// Devices that compute graphs. Part of sealing.
#pragma once

#include <stdbool.h>

#include "trace/spool.h"
#include "trace/writer.h"

struct ggs_devices {
    struct ggs_writer * writer;
    struct ggs_device * rows; // by number
    char **             names;
    size_t              n, rows_capacity, names_capacity;
};

void ggs_devices_release(struct ggs_devices * devices);

// Returns the number of a backend's device, which is made if it is new. `host`: the CPU, whatever
// its name.
uint64_t ggs_devices_number(struct ggs_devices * devices, const char * backend, size_t length, bool host);
// Describes a device from the journal; `text` is the name of its backend, a newline, and its
// description.
void ggs_devices_describe(struct ggs_devices * devices, const struct ggs_journal_device * device, const char * text,
                          size_t length);
// Records how closely the device is observed.
void ggs_devices_seen(struct ggs_devices * devices, uint64_t device, enum ggs_seen seen);
// Writes the rows.
void ggs_devices_finish(struct ggs_devices * devices);
// Return a device and its name by number; an unnamed one if there is none (out of memory).
const struct ggs_device * ggs_devices_get(const struct ggs_devices * devices, uint64_t device);
const char *              ggs_devices_name(const struct ggs_devices * devices, uint64_t device);
