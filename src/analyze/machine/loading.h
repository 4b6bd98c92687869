// Loading of models: what the engine asked the kernel for, and how long it waited for that.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_LOADING_KINDS = GGS_READ_COUNT };

struct ggs_loading_kind {
    uint64_t reads; // rows: adjacent calls may be one
    uint64_t bytes; // what is asked for again counts again
    uint64_t ns;    // spent in the calls
};

struct ggs_loading {
    uint64_t                models;  // loads whose end was seen
    uint64_t                wall_ns; // of these, begin to end
    uint64_t                reads;
    uint64_t                bytes; // of files, each once
    uint64_t                ns;
    struct ggs_loading_kind by_kind[GGS_LOADING_KINDS]; // by enum ggs_read_kind
};

int ggs_loading_compute(struct ggs_loading * loading, struct ggs_trace * trace, struct ggs_error * error);

// "read", "populate", "advice", "lock"; "unknown" for a number that means nothing.
const char * ggs_loading_name(uint64_t kind);
