// The memory of contexts over time: cells of the sequences, and cells covered by attention. The
// engine computes attention over all cells up to the last one in use, rounded up: the unused ones
// among them are holes and rounding.
#pragma once

#include "analyze/walk/trace.h"

enum { GGS_CELL_STRIP = 32 };

struct ggs_sequence_use {
    int64_t  sequence;
    uint64_t cells;
    int64_t  first_cell, last_cell; // -1 if unknown
    uint64_t pieces;                // contiguous ranges of cells
};

struct ggs_cell_use {
    int64_t                   time_ns; // end of the decode that led to this state
    int64_t                   token;   // step, -1 for a warm-up
    uint64_t                  decode;
    uint64_t                  context;
    uint64_t                  cells;           // shared ones counted once
    uint64_t                  sequences;       // with cells
    int64_t                   up_to;           // cells up to the last one in use, over all streams; -1 if unknown
    int64_t                   holes;           // of these, unused
    uint64_t                  attended;        // 0 if not seen
    int64_t                   attended_in_use; // of these; -1 if unknown
    struct ggs_sequence_use * by_sequence;
    uint64_t                  n_sequences, sequences_capacity;
    char strip[GGS_CELL_STRIP + 1]; // owner of each cell, from 0 to the peak of up_to; "" with separate streams
};

// Changes of sequences by the program. In a long recording a row may combine calls of one kind that
// are close in time.
struct ggs_cell_change {
    int64_t  begin_ns, end_ns; // of the first and last call
    uint64_t context;
    uint64_t kind;            // enum ggs_memory_change_kind
    int64_t  sequence, other; // -1 for all, for none, and if calls differ
    uint64_t calls, cells;    // cells: dropped, copied or moved
};

// Peaks over the whole time.
struct ggs_cell_peak {
    uint64_t context;
    uint64_t capacity, streams; // 0 if not seen
    uint64_t cells;             // maximum in use
    int64_t  up_to, holes;      // maximum, -1 if unknown
    int64_t  holes_ns;          // time of the maximum
};

struct ggs_cell_uses {
    struct ggs_cell_use *  use; // in order of time per context
    uint64_t               n, capacity;
    struct ggs_cell_peak * peak; // by context
    uint64_t               n_peaks, peaks_capacity;

    struct ggs_cell_change * change; // in order of time per context
    uint64_t                 n_changes, changes_capacity;
};

// At most `most` entries, and changes: of neighbours, the one with the most cells stays.
int  ggs_cell_uses_compute(struct ggs_cell_uses * uses, struct ggs_trace * trace, uint64_t most,
                           struct ggs_error * error);
void ggs_cell_uses_release(struct ggs_cell_uses * uses);
