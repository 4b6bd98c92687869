// How often ops touch the bytes of buffers, by stretches of equal length.
#pragma once

#include <stdint.h>

#include "analyze/walk/access.h"
#include "analyze/walk/intervals.h"
#include "analyze/walk/trace.h"

struct ggs_buffer_stretch {
    uint64_t buffer, offset;
    uint64_t touched; // distinct bytes touched
    uint64_t bytes;   // read and written, with repetitions
};

struct ggs_buffer_heat {
    uint64_t                    stretch_bytes; // a power of two, such that there are some thousand stretches
    struct ggs_buffer_stretch * stretch;       // those that were touched, by buffer and offset
    uint64_t                    n, capacity;
    uint64_t *                  touched; // by buffer, as in the trace: distinct bytes touched
    // used during computation
    uint64_t *             sums;  // of all stretches
    uint64_t *             first; // by buffer: its first one
    struct ggs_intervals * sets;  // by buffer
    uint64_t               n_buffers;
};

int  ggs_buffer_heat_init(struct ggs_buffer_heat * heat, const struct ggs_trace * trace, struct ggs_error * error);
void ggs_buffer_heat_release(struct ggs_buffer_heat * heat); // a zeroed struct is fine

// `buffer`: index in trace->buffers. The access happened `times` times.
int ggs_buffer_heat_add(struct ggs_buffer_heat * heat, uint64_t buffer, const struct ggs_access * access,
                        uint64_t times, struct ggs_error * error);
// Lists the touched stretches.
int ggs_buffer_heat_end(struct ggs_buffer_heat * heat, const struct ggs_trace * trace, struct ggs_error * error);
