// Facts of a recording that need no op runs: one pass over graph runs, token steps and losses.
//
// The counts are those of ggs_totals_compute. In addition it has the lanes, and for each graph run
// the position of its ops in the log, so that any row of a long log is found directly.
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
    uint64_t first_row; // number of its first op in the unfiltered log
    uint32_t run;
    uint32_t graph;
};

struct ggs_overview {
    uint64_t                   steps, warmup_steps;
    uint64_t                   prompt_tokens, generated_tokens;
    uint64_t                   generate_ns, between_ns, generate_steps, decoded_tokens, drafting_ns;
    int64_t                    slowest_step; // of generating steps, -1 for none
    uint64_t                   slowest_ns;
    uint64_t                   runs, interrupted_runs, unseen;
    uint64_t                   runs_without_waits;   // the engine's barrier was not seen (GGS_RUN_NO_WAITS)
    uint64_t                   runs_of_first_thread; // other threads were not seen (GGS_RUN_FIRST_THREAD)
    uint64_t                   lost;                 // records of ops and tokens
    uint64_t                   ops, op_runs;
    uint64_t                   rows; // of the unfiltered log: ops, nodes fused into them, nodes of opaque runs
    uint64_t                   threads;
    int64_t                    begin_ns, end_ns; // first to last event
    struct ggs_overview_lane * lanes;            // by process, slot and thread; whole graphs last
    uint32_t *                 lanes_by_slot; // indices into `lanes`, by slot and thread: processes have disjoint slots
    uint64_t                   n_lanes, lanes_capacity;
    struct ggs_overview_run *  run; // by run
};

int  ggs_overview_compute(struct ggs_overview * overview, struct ggs_trace * trace, struct ggs_error * error);
void ggs_overview_release(struct ggs_overview * overview);

// Returns the run by its number, NULL if there is none.
const struct ggs_overview_run * ggs_overview_find(const struct ggs_overview * overview, uint64_t run);
// Returns the run with this row of the log; NULL beyond the last.
const struct ggs_overview_run * ggs_overview_at(const struct ggs_overview * overview, uint64_t row);
// Returns the index in `lanes`; -1 if there is none.
int ggs_overview_lane(const struct ggs_overview * overview, int64_t slot, uint64_t thread);
// The same for the whole graphs of a device.
int ggs_overview_whole(const struct ggs_overview * overview, uint64_t device);
// Returns the device of a queue's or whole graphs' lane; NULL for a thread.
const char * ggs_overview_lane_device(const struct ggs_trace * trace, const struct ggs_overview_lane * lane);
// Writes the name of a lane from the trace, or its parts if the trace has none (it was truncated).
void ggs_overview_lane_name(const struct ggs_trace * trace, const struct ggs_overview_lane * lane, char * label,
                            size_t size);
