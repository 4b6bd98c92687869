// The cells of a context's memory that the tokens of a batch were written to, by the engine's
// numbers.
//
// Newer releases write keys with SET_ROWS, whose row ids are in the trace. Older ones copy them
// into a view of the cache, whose offset gives the first cell; the others follow. If a memory has
// several streams (separate cells per sequence), numbers are consecutive over all streams. Not
// seen: writes of devices (their ids stay there), and memories without keys.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/access.h"
#include "analyze/walk/trace.h"
#include "base/map.h"
#include "trace/sequences.h"

struct ggs_cell_numbers {
    struct ggs_trace *     trace; // borrowed
    struct ggs_batch_run * runs;  // by decode, step and run
    uint64_t               n_runs, runs_capacity;
    struct ggs_map         plans_of; // graph -> index + 1
    struct ggs_cell_plan * plans;
    uint64_t               n_plans, plans_capacity;
    struct ggs_access_list index;
    int64_t * written; // cells and positions of the batch in the engine's order; -1 for an unknown position
    int64_t * positions;
    uint64_t  n_written, written_capacity, positions_capacity;
    // Of the latest batch:
    int64_t * cell; // by token: its cell, -1 if not seen
    uint64_t  cell_capacity;
    uint64_t  cells, streams;   // of the memory over all streams; 0 if not seen
    uint64_t  attended;         // maximum cells of attention in one graph run, 0 if not seen
    uint64_t  attended_streams; // in that run
    bool      moved;            // cells were moved before it: earlier numbers are invalid
};

int  ggs_cell_numbers_open(struct ggs_cell_numbers * numbers, struct ggs_trace * trace, struct ggs_error * error);
void ggs_cell_numbers_close(struct ggs_cell_numbers * numbers); // a zeroed struct is fine

// Finds the cells of a batch; fastest in order of batches.
int ggs_cell_numbers_find(struct ggs_cell_numbers * numbers, const struct ggs_sequence_batch * batch,
                          struct ggs_error * error);

// Returns the number of streams of a context's memory; 0 if not seen.
int ggs_cell_streams(struct ggs_trace * trace, uint64_t context, uint64_t * streams, struct ggs_error * error);
