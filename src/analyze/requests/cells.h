// The memory of contexts over time: how many cells its sequences have, and over how many attention goes. The engine computes attention over
// all cells up to the last one in use, rounded up: what is beyond those in use is holes and rounding.
#pragma once

#include "analyze/walk/trace.h"

struct ggs_cell_use {
    int64_t  time_ns; // end of the decode after which it holds
    int64_t  token;   // step, -1 for a warm-up
    uint64_t context;
    uint64_t cells;     // shared ones counted once
    uint64_t sequences; // that have some
    uint64_t attended;  // 0 if it is not known
};

struct ggs_cell_uses {
    struct ggs_cell_use * use; // in order of time for each context
    uint64_t              n, capacity;
};

// At most `most` of them: of neighbours, the one with the most cells stays.
int  ggs_cell_uses_compute(struct ggs_cell_uses * uses, struct ggs_trace * trace, uint64_t most,
                           struct ggs_error * error);
void ggs_cell_uses_release(struct ggs_cell_uses * uses);
