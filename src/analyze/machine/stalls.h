// Stalls: page faults while a thread computed, with the delayed lane.
//
// A fault has graph run, node and OS thread; the op runs of the graph run have the thread's index
// in the engine's pool. It is looked up once per OS thread: a worker keeps its index, and Linux
// does not reuse a thread id soon.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_STALL_THREADS = 64 };

struct ggs_stall_walk {
    struct ggs_fault fault;
    int64_t          slot;
    uint64_t         thread;
    // private
    struct ggs_cursor *faults, *runs, *op_runs;
    struct ggs_run     run; // of the last stall
    struct {
        uint64_t os_thread, thread;
    } known[GGS_STALL_THREADS]; // latest lookups
    unsigned n_known;
};

// Opens a walk over faults that touch [begin_ns, end_ns).
int  ggs_stall_walk_open(struct ggs_stall_walk * walk, struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns,
                         struct ggs_error * error);
void ggs_stall_walk_close(struct ggs_stall_walk * walk); // a zeroed struct is fine
// Returns 1 with the next stall of a lane, 0 at the end, or a negative status. Skips faults outside
// of ops.
int ggs_stall_walk_next(struct ggs_stall_walk * walk, struct ggs_error * error);
