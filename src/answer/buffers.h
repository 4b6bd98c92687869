// Runtime buffers, what lives in them, how much they took when, and what was moved.
#pragma once

#include <stdbool.h>

#include "analyze/memory/occupancy.h"
#include "answer/fields.h"

struct ggs_json;

struct ggs_buffers {
    struct ggs_trace *   trace; // borrowed
    struct ggs_occupancy occupancy;
    bool                 transfers; // were they asked for?
    int *                layers;    // by buffer - 1: the layer that all its tensors belong to; -1 for several, or none
    struct ggs_buffers_resident * residents; // weights and caches, by place
    uint64_t                      n_residents;
};

// Transfers grow with the recording, all else does not.
int  ggs_buffers_compute(struct ggs_buffers * buffers, struct ggs_trace * trace, bool transfers,
                         struct ggs_error * error);
void ggs_buffers_release(struct ggs_buffers * buffers); // a zeroed struct is fine

extern const struct ggs_object ggs_buffers_object; // of a struct ggs_buffers
void                           ggs_buffers_write(struct ggs_json * json, const struct ggs_buffers * buffers);
