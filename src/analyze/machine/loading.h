// Loading of models: the engine's requests to the kernel, and their time.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_LOADING_KINDS = GGS_READ_COUNT };

struct ggs_loading_kind {
    uint64_t reads; // rows: adjacent calls may be merged
    uint64_t bytes; // repeated reads count repeatedly
    uint64_t ns;    // spent in the calls
};

struct ggs_loading {
    uint64_t                models;  // loads with a recorded end
    uint64_t                wall_ns; // of these, from start to end
    uint64_t                reads;
    uint64_t                bytes; // of files, each once
    uint64_t                ns;
    struct ggs_loading_kind by_kind[GGS_LOADING_KINDS]; // by enum ggs_read_kind
};

int ggs_loading_compute(struct ggs_loading * loading, struct ggs_trace * trace, struct ggs_error * error);

// "read", "populate", "advice", "lock"; "unknown" for an invalid number.
const char * ggs_loading_name(uint64_t kind);
