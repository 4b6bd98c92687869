// Which cells of a context's memory the tokens of a batch were written to, by the engine's own
// numbers.
//
// Newer releases write keys with SET_ROWS, whose row ids are in the trace; older ones copy them
// into a view of the cache, whose place tells the first cell, and the others follow it. If a memory
// has several streams (each sequence with cells of its own), numbers go through all of them. Not
// seen: what devices write (their ids stay there), and memories that keep no keys.
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
    int64_t * written; // cells and positions of the batch as the engine wrote them; -1 for a position that was not kept
    int64_t * positions;
    uint64_t  n_written, written_capacity, positions_capacity;
    // Of the newest batch:
    int64_t * cell; // by token: its cell, -1 if that was not seen
    uint64_t  cell_capacity;
    uint64_t  cells, streams;   // of the memory, of all its streams together; 0 if not seen
    uint64_t  attended;         // the most cells that attention went over in one graph run, 0 if not seen
    uint64_t  attended_streams; // there
    bool      moved;            // cells were put elsewhere before it: numbers from before hold no more
};

int  ggs_cell_numbers_open(struct ggs_cell_numbers * numbers, struct ggs_trace * trace, struct ggs_error * error);
void ggs_cell_numbers_close(struct ggs_cell_numbers * numbers); // a zeroed struct is fine

// Looks for the cells of a batch; quickest if batches come in order.
int ggs_cell_numbers_find(struct ggs_cell_numbers * numbers, const struct ggs_sequence_batch * batch,
                          struct ggs_error * error);

// How many streams the memory of a context has; 0 if that was not seen.
int ggs_cell_streams(struct ggs_trace * trace, uint64_t context, uint64_t * streams, struct ggs_error * error);
