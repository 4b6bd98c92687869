// A kind of ggml backend that is not treated as an unknown device: one file each, and a row in
// GGS_BACKEND_KINDS. Nothing else tests for a backend's name.
//
// Functions are called in this order, on the thread that computes except for read and drop; each
// may be NULL:
//
//     begin -> (node -> commands)* -> submitted -> read, or drop if the run ends otherwise
#pragma once

#include <stdbool.h>

struct ggs_device_run;

struct ggs_backend_kind {
    const char * prefix; // prefix of the names of its backends and buffers: "CUDA" of "CUDA0"
    // It computes on another machine that answers in order: an empty queue proves nothing, an
    // answer proves that all earlier work is done.
    bool remote;
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

#define GGS_BACKEND_KINDS(ROW) ROW(cuda) ROW(rpc) ROW(vulkan)

#define ROW(name_) extern const struct ggs_backend_kind ggs_backend_kind_##name_;
GGS_BACKEND_KINDS(ROW)
#undef ROW

extern const struct ggs_backend_kind * const ggs_backend_kinds[]; // ends with NULL

// Returns the kind of a backend or buffer by its name; NULL for an unknown device.
const struct ggs_backend_kind * ggs_backend_kind_of(const char * name);
