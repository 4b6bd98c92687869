// A kind of ggml backend that is not treated as an unknown device: one file each, and a row in
// backend-kinds.c. Nothing else tests for a backend's name.
//
// Functions are called in this order, on the thread that computes but for read and drop; each may
// be NULL:
//
//     begin -> (node -> commands)* -> submitted -> read, or drop if the run ends otherwise
#pragma once

#include <stdbool.h>

struct ggs_device_run;

struct ggs_backend_kind {
    const char * prefix; // how the names of its backends and buffers begin: "CUDA" of "CUDA0"
    // Computes on another machine, which answers in order: there an empty queue says nothing, and
    // an answer that all work before it is done.
    bool remote;
    bool asks; // in its loop over a graph ggml_is_empty of each node: what is fused is seen

    // False: nothing of the run will be timed, and its nodes need not be followed.
    bool (*begin)(struct ggs_device_run * run);
    // The next node begins: the commands of the one before are complete.
    void (*node)(struct ggs_device_run * run);
    // The submitting call returns: no more commands for this run.
    void (*submitted)(struct ggs_device_run * run);
    // For a timed run whose results are there: fills in the times of its ops and releases what is
    // kept for the run. May return false to be asked again with the next results. `waiting` runs
    // have been put off, this one included; UINT_MAX: it is now or never.
    bool (*read)(struct ggs_device_run * run, unsigned waiting);
    // For a timed run that is not read: releases what is kept for it. Its device may be gone.
    void (*drop)(struct ggs_device_run * run);
    // A decode of a single token begins. The first one ends the prompt.
    void (*generating)(void);
};

extern const struct ggs_backend_kind ggs_backend_kind_cuda, ggs_backend_kind_rpc, ggs_backend_kind_vulkan;

extern const struct ggs_backend_kind * const ggs_backend_kinds[]; // NULL behind the last

// The kind of a backend or buffer of this name; NULL for an unknown device.
const struct ggs_backend_kind * ggs_backend_kind_of(const char * name);
