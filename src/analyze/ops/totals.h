// Totals of a recording in one pass over the trace. Warm-up is left out of tokens, times per token
// and touched bytes.
//
// Ops of a backend that is seen as whole graphs have no times: their bytes follow from the graph,
// and the time of their graph runs is one row for the backend.
#pragma once

#include <stdint.h>

#include "analyze/lanes/devices.h"
#include "analyze/memory/pattern.h"
#include "analyze/memory/weight-places.h"
#include "analyze/ops/estimate.h"
#include "analyze/walk/intervals.h"
#include "analyze/walk/names.h"
#include "analyze/walk/trace.h"

struct ggs_op_totals {
    const char * name;   // ggml's, or "Vulkan0, as a whole", "first use of Vulkan0"; lives as long as the totals
    bool         opaque; // no op: a backend that is seen as whole graphs (ops are nodes, wall_ns is the time of its
                         // graph runs), or the first graph run of a device that compiled for it
    uint64_t ops, op_runs;
    uint64_t wall_ns;   // from first start to last end, summed over ops
    uint64_t busy_ns;   // summed over threads, without waits
    uint64_t wait_ns;   // summed over threads, in and after ops
    bool     unwaited;  // some waits were not seen, for example on a device
    bool     on_device; // some ops ran on a device: the host's limits do not apply
    uint64_t read, written, disk;
};

struct ggs_totals {
    uint64_t                 steps, warmup_steps;
    uint64_t                 requests; // started, except those of drafting contexts
    uint64_t                 prompt_tokens, generated_tokens;
    uint64_t                 load_ns;                // of models, regardless of the requested part
    uint64_t                 prompt_ns, generate_ns; // of steps, from start to end; generate_ns covers generate_steps
    uint64_t                 between_ns;             // from the previous steps to these
    uint64_t                 generate_steps, decoded_tokens; // decoded: generated in these steps
    uint64_t                 quiet_ns;                       // a tenth of the generating steps take at most this
    uint64_t                 draft_steps, draft_ns;          // of drafting contexts
    uint64_t                 drafting_ns;                    // of these, except prompts
    uint64_t                 drafted_tokens, accepted_tokens, rejected_tokens;
    uint64_t                 graph_steps, graph_ns; // of programs without tokens
    uint64_t                 threads;               // maximum over CPU runs
    uint64_t                 runs, interrupted_runs;
    uint64_t                 runs_without_waits;   // the engine's barrier was not seen (GGS_RUN_NO_WAITS)
    uint64_t                 runs_of_first_thread; // other threads were not seen (GGS_RUN_FIRST_THREAD)
    uint64_t                 nodes, executed, absorbed, empty, skipped, opaque, unseen, cut;
    uint64_t                 ops, op_runs, dropped; // ops with times
    bool                     partial;               // the trace is incomplete: other losses are unknown
    uint64_t                 op_ns, opaque_ns;      // wall time of ops; of graph runs that are seen as a whole
    uint64_t                 run_ns;                // of all graph runs, begin to end
    bool                     proved;                // recorded with --prove: its times are meaningless
    uint64_t                 wall_ns;               // from the first graph run's start to the last end
    uint64_t                 read, written, disk, vram, buffer; // bytes; disk + vram + buffer = read + written
    uint64_t                 buffers, peak_bytes;
    uint64_t                 model_bytes, touched_bytes; // of the files with weights
    bool                     unsized;                    // one of them was missing when the trace was sealed
    uint64_t                 unknown_bytes;              // in addition: partly read experts, unknown which
    struct ggs_weight_places places;                     // of all weights, regardless of the requested part
    struct ggs_stray_weights stray;                      // in addition: of unknown origin
    uint64_t                 n_by_op;                    // sorted by wall time, longest first
    struct ggs_op_totals *   by_op;
    struct ggs_intervals *   touched; // by file - 1
    struct ggs_intervals *   unknown; // the same with possible reads
    uint64_t                 n_touched;
    struct ggs_pattern       pattern;
    struct ggs_names *       names;
    struct ggs_device_list   devices;
    struct ggs_estimate      estimate; // for device graph runs without op times
};

// A part of a recording. Counts of graph runs and nodes are those of the token range; trace->filter
// limits the ops.
struct ggs_totals_range {
    int64_t  first_step, last_step; // INT64_MIN, INT64_MAX: everything, with warm-up in all but tokens
    uint64_t gap;                   // of ggs_pattern, in bytes
};
#define GGS_GAP_PAGE UINT64_MAX // a page of the recorded machine
extern const struct ggs_totals_range ggs_totals_all;

// GGS_ABSENT if the recording has no such part.
int  ggs_totals_compute(struct ggs_totals * totals, struct ggs_trace * trace, const struct ggs_totals_range * range,
                        struct ggs_error * error);
void ggs_totals_release(struct ggs_totals * totals);
