// Stalls: page faults while a thread computed, with the lane that was held up.
//
// A fault names the graph run, the node and the OS thread; which thread of the engine's pool that
// is, the op runs of the graph run say. They are looked up once per OS thread: a worker keeps its
// index in its pool, and Linux does not soon use the id of a thread again.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_STALL_THREADS = 64 };

struct ggs_stall_walk {
    struct ggs_fault fault;
    int64_t          slot;
    uint64_t         thread;
    // below: private
    struct ggs_cursor *faults, *runs, *op_runs;
    struct ggs_run     run; // that the last stall was in
    struct {
        uint64_t os_thread, thread;
    } known[GGS_STALL_THREADS]; // the last ones that were looked up
    unsigned n_known;
};

// Faults that touch [begin_ns, end_ns).
int  ggs_stall_walk_open(struct ggs_stall_walk * walk, struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns,
                         struct ggs_error * error);
void ggs_stall_walk_close(struct ggs_stall_walk * walk); // a zeroed struct is fine
// 1 with the next stall of a lane, 0 at the end, or negative. Faults outside of ops are passed
// over.
int ggs_stall_walk_next(struct ggs_stall_walk * walk, struct ggs_error * error);
