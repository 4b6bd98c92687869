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

// The number of the device that a backend computes on, which is made if it is new. `host`: the CPU,
// whatever its name.
uint64_t ggs_devices_number(struct ggs_devices * devices, const char * backend, size_t length, bool host);
// What the journal says of a device; `text` is the name of its backend, a newline, and its
// description.
void ggs_devices_describe(struct ggs_devices * devices, const struct ggs_journal_device * device, const char * text,
                          size_t length);
// It was watched as closely as `seen`.
void ggs_devices_seen(struct ggs_devices * devices, uint64_t device, enum ggs_seen seen);
// Writes the rows.
void ggs_devices_finish(struct ggs_devices * devices);
// A device with that number, and its name; an unnamed one if there is none (out of memory).
const struct ggs_device * ggs_devices_get(const struct ggs_devices * devices, uint64_t device);
const char *              ggs_devices_name(const struct ggs_devices * devices, uint64_t device);
