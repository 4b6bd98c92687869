// How the capture library times a kind of backend: one file for each row of GGS_BACKENDS
// (base/backend-traits.h).
//
// Functions are called in this order, on the thread that computes except for read and drop; each
// may be NULL:
//
//     begin -> (node -> commands)* -> submitted -> read, or drop if the run ends otherwise
#pragma once

#include <stdbool.h>

#include "base/backend-traits.h"

struct ggs_device_run;

struct ggs_backend_kind {
    bool asks; // its loop over a graph calls ggml_is_empty for each node, which shows what is fused

    // Returns false if nothing of the run will be timed and its nodes need not be followed.
    bool (*begin)(struct ggs_device_run * run);
    // Begins the next node: the commands of the previous one are complete.
    void (*node)(struct ggs_device_run * run);
    // Ends the submitting call: no more commands for this run.
    void (*submitted)(struct ggs_device_run * run);
    // For a timed run whose results have arrived: fills in the times of its ops and releases the
    // run's state. May return false to be called again with later results. `waiting` runs have been
    // postponed, this one included; UINT_MAX forbids to postpone.
    bool (*read)(struct ggs_device_run * run, unsigned waiting);
    // For a timed run that is not read: releases the run's state. The device may be gone.
    void (*drop)(struct ggs_device_run * run);
    // Begins a decode of a single token. The first one ends the prompt.
    void (*generating)(void);
};

#define ROW(name_, ...) extern const struct ggs_backend_kind ggs_backend_kind_##name_;
GGS_BACKENDS(ROW)
#undef ROW

// In the order of GGS_BACKENDS; ends with NULL.
extern const struct ggs_backend_kind * const ggs_backend_kinds[];

// Returns the kind of a backend or buffer by its name; NULL for an unknown device.
const struct ggs_backend_kind * ggs_backend_kind_of(const char * name);
