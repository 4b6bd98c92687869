// The memory of contexts over time: how many cells its sequences have, which ones, and over how
// many attention goes. The engine computes attention over all cells up to the last one in use,
// rounded up: what is not in use of them is holes and rounding.
#pragma once

#include "analyze/walk/trace.h"

enum { GGS_CELL_STRIP = 32 };

struct ggs_sequence_use {
    int64_t  sequence;
    uint64_t cells;
    int64_t  first_cell, last_cell; // -1 if it was not seen which ones it has
    uint64_t pieces;                // cells that lie side by side are one
};

struct ggs_cell_use {
    int64_t  time_ns; // end of the decode after which it holds
    int64_t  token;   // step, -1 for a warm-up
    uint64_t decode;
    uint64_t context;
    uint64_t cells;     // shared ones counted once
    uint64_t sequences; // that have some
    int64_t  up_to;    // cells up to the last one in use, of all streams together; -1 if it was not seen which ones are
    int64_t  holes;    // of these, not in use
    uint64_t attended; // 0 if it was not seen
    int64_t  attended_in_use; // of these; -1 if it was not seen
    struct ggs_sequence_use * by_sequence;
    uint64_t                  n_sequences, sequences_capacity;
    char                      strip[GGS_CELL_STRIP +
               1]; // who has which cell, from 0 to the peak of up_to; "" if sequences have streams of their own
};

// What the program did to sequences. Of a long recording a row may stand for several calls of one
// kind that are close in time.
struct ggs_cell_change {
    int64_t  begin_ns, end_ns; // of the first and the last call
    uint64_t context;
    uint64_t kind;            // enum ggs_memory_change_kind
    int64_t  sequence, other; // -1 for all of them, for none, and where calls differ
    uint64_t calls, cells;    // cells that were dropped, copied or moved
};

// What is left of it over all the time.
struct ggs_cell_peak {
    uint64_t context;
    uint64_t capacity, streams; // 0 if not seen
    uint64_t cells;             // the most in use at once
    int64_t  up_to, holes;      // the most, -1 if not seen
    int64_t  holes_ns;          // when there were that many
};

struct ggs_cell_uses {
    struct ggs_cell_use *  use; // in order of time for each context
    uint64_t               n, capacity;
    struct ggs_cell_peak * peak; // by context
    uint64_t               n_peaks, peaks_capacity;

    struct ggs_cell_change * change; // in order of time for each context
    uint64_t                 n_changes, changes_capacity;
};

// At most `most` of them, and of changes: of neighbours, the one with the most cells stays.
int  ggs_cell_uses_compute(struct ggs_cell_uses * uses, struct ggs_trace * trace, uint64_t most,
                           struct ggs_error * error);
void ggs_cell_uses_release(struct ggs_cell_uses * uses);
