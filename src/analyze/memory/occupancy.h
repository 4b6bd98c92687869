// How much memory did the runtime buffers take, when and for what, and what was moved between them?
//
// Buffers that lie in a mapping of a file are no memory of the program's own: they are listed, but
// not counted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_CLASSES = GGS_CLASS_COUNT };

// The curve changes here: a buffer was allocated or freed.
struct ggs_occupancy_event {
    int64_t  ns;
    uint64_t buffer;
    bool     end;
    uint64_t bytes;                 // of the buffer
    uint64_t total;                 // of all counted buffers, from now on
    uint64_t by_class[GGS_CLASSES]; // the same, each
    uint64_t live;                  // how many buffers
};

// Transfers of one kind between two places.
struct ggs_transfer_totals {
    uint64_t kind;                   // as in struct ggs_transfer
    uint64_t from_buffer, to_buffer; // 0 for host memory; from_file if that is a mapped file
    uint64_t from_file;
    uint64_t count, bytes, ns;
};

struct ggs_occupancy {
    int64_t                      begin_ns, end_ns; // of the experiment, as far as it was seen
    uint64_t                     n_events;
    struct ggs_occupancy_event * events; // by time
    uint64_t                     peak_bytes;
    int64_t                      peak_ns;
    uint64_t                     class_peak[GGS_CLASSES];
    uint64_t                     class_buffers[GGS_CLASSES]; // how many there ever were, counted or not
    uint64_t                     mapped_bytes;               // of buffers that lie in mapped files
    uint64_t                     n_transfers;                // kinds of them, most bytes first
    struct ggs_transfer_totals * transfers;
};

int ggs_occupancy_compute(struct ggs_occupancy * occupancy, struct ggs_trace * trace, struct ggs_error * error);
// Without the transfers, which grow with the recording.
int ggs_occupancy_compute_buffers(struct ggs_occupancy * occupancy, struct ggs_trace * trace, struct ggs_error * error);
void ggs_occupancy_release(struct ggs_occupancy * occupancy);

// The curve in `n` equal parts of time: the most that was taken at any moment of each.
void ggs_occupancy_curve(const struct ggs_occupancy * occupancy, uint64_t * curve, uint64_t n);
