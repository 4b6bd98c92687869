// Memory of the runtime buffers over time and by class, and transfers between them.
//
// Buffers in a file mapping are not the program's own memory: they are listed, but not counted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_CLASSES = GGS_CLASS_COUNT };

// A change of the curve: a buffer was allocated or freed.
struct ggs_occupancy_event {
    int64_t  ns;
    uint64_t buffer;
    bool     end;
    uint64_t bytes;                 // of the buffer
    uint64_t total;                 // of all counted buffers, from here on
    uint64_t by_class[GGS_CLASSES]; // the same, each
    uint64_t live;                  // number of buffers
};

// Transfers of one kind between two places.
struct ggs_transfer_totals {
    uint64_t kind;                   // as in struct ggs_transfer
    uint64_t from_buffer, to_buffer; // 0 for host memory; from_file if it is a mapped file
    uint64_t from_file;
    uint64_t count, bytes, ns;
};

struct ggs_occupancy {
    int64_t                      begin_ns, end_ns; // of the experiment, as far as seen
    uint64_t                     n_events;
    struct ggs_occupancy_event * events; // by time
    uint64_t                     peak_bytes;
    int64_t                      peak_ns;
    uint64_t                     class_peak[GGS_CLASSES];
    uint64_t                     class_buffers[GGS_CLASSES]; // total number, counted or not
    uint64_t                     mapped_bytes;               // of buffers in mapped files
    uint64_t                     n_transfers;                // distinct kinds, most bytes first
    struct ggs_transfer_totals * transfers;
};

int ggs_occupancy_compute(struct ggs_occupancy * occupancy, struct ggs_trace * trace, struct ggs_error * error);
// Without transfers, which grow with the recording.
int ggs_occupancy_compute_buffers(struct ggs_occupancy * occupancy, struct ggs_trace * trace, struct ggs_error * error);
void ggs_occupancy_release(struct ggs_occupancy * occupancy);

// The curve in `n` equal parts of time: the maximum of each.
void ggs_occupancy_curve(const struct ggs_occupancy * occupancy, uint64_t * curve, uint64_t n);
