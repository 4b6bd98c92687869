// What is known of a recording without looking at its op runs: one pass over its graph runs, its
// token steps and its losses.
//
// The counts are those of ggs_totals_compute. Beside them: which lanes there are, and for each
// graph run the place of its ops in the log, so that any row of a log of millions is found at once.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_overview_lane {
    int64_t  slot; // -1: a device that is seen as whole graphs
    uint64_t thread;
    uint64_t backend; // string
    uint64_t process, device;
};

struct ggs_overview_run {
    uint64_t first_row; // number of its first op in the log of everything
    uint32_t run;
    uint32_t graph;
};

struct ggs_overview {
    uint64_t                   steps, warmup_steps;
    uint64_t                   prompt_tokens, generated_tokens;
    uint64_t                   generate_ns, between_ns, generate_steps, decoded_tokens, drafting_ns;
    int64_t                    slowest_step; // of those that generate, -1 for none
    uint64_t                   slowest_ns;
    uint64_t                   runs, interrupted_runs, unseen;
    uint64_t                   runs_without_waits;   // the engine's barrier was not seen (GGS_RUN_NO_WAITS)
    uint64_t                   runs_of_first_thread; // other threads were not seen (GGS_RUN_FIRST_THREAD)
    uint64_t                   lost;                 // records of ops and tokens
    uint64_t                   ops, op_runs;
    uint64_t                   rows; // of the log of everything: ops, the nodes fused into them, nodes of opaque runs
    uint64_t                   threads;
    int64_t                    begin_ns, end_ns; // first event to the last
    struct ggs_overview_lane * lanes;            // by process, slot and thread; whole graphs last
    uint32_t * lanes_by_slot; // places in `lanes`, by slot and thread: no two processes have the same slots
    uint64_t   n_lanes, lanes_capacity;
    struct ggs_overview_run * run; // by run
};

int  ggs_overview_compute(struct ggs_overview * overview, struct ggs_trace * trace, struct ggs_error * error);
void ggs_overview_release(struct ggs_overview * overview);

// The run by its number, NULL if there is none.
const struct ggs_overview_run * ggs_overview_find(const struct ggs_overview * overview, uint64_t run);
// The run that has the row of the log; NULL beyond the last.
const struct ggs_overview_run * ggs_overview_at(const struct ggs_overview * overview, uint64_t row);
// The lane's place in `lanes`; -1 if there is none.
int ggs_overview_lane(const struct ggs_overview * overview, int64_t slot, uint64_t thread);
// The same for the whole graphs of a device.
int ggs_overview_whole(const struct ggs_overview * overview, uint64_t device);
// The device whose queue or whole graphs a lane is; NULL for a thread.
const char * ggs_overview_lane_device(const struct ggs_trace * trace, const struct ggs_overview_lane * lane);
