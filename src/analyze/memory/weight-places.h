// The places of the model's weights: in the file mapping, or in a buffer that the engine copied
// them into at load.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_WEIGHT_PLACES_BUFFERS = 4 };

struct ggs_weight_places {
    uint64_t     mapped, copied;                    // bytes in the files
    const char * buffer[GGS_WEIGHT_PLACES_BUFFERS]; // types of buffers with copies, most bytes first: "CPU_REPACK"
    uint64_t     bytes[GGS_WEIGHT_PLACES_BUFFERS];
    unsigned     n;
};

// Covers weights that ops read. Strings live as long as the trace.
int ggs_weight_places_find(struct ggs_weight_places * places, const struct ggs_trace * trace, struct ggs_error * error);
