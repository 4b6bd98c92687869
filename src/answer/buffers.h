// Runtime buffers with their contents, their sizes over time, and transfers.
#pragma once

#include <stdbool.h>

#include "analyze/memory/occupancy.h"
#include "answer/fields.h"

struct ggs_json;

struct ggs_buffers {
    struct ggs_trace *            trace; // borrowed
    struct ggs_occupancy          occupancy;
    bool                          transfers; // requested
    int *                         layers;    // by buffer - 1: the layer of all its tensors; -1 for several, or none
    struct ggs_buffers_resident * residents; // weights and caches, by offset
    uint64_t                      n_residents;
};

// Only the transfers grow with the recording.
int  ggs_buffers_compute(struct ggs_buffers * buffers, struct ggs_trace * trace, bool transfers,
                         struct ggs_error * error);
void ggs_buffers_release(struct ggs_buffers * buffers); // a zeroed struct is fine

extern const struct ggs_object ggs_buffers_object; // of a struct ggs_buffers
void                           ggs_buffers_write(struct ggs_json * json, const struct ggs_buffers * buffers);
