// What a recording amounts to: one pass over the trace. Warm-up is left out of tokens, times per token and touched bytes.
#pragma once

#include <stdint.h>

#include "analyze/ops/pattern.h"
#include "analyze/walk/intervals.h"
#include "analyze/walk/trace.h"

struct ggs_op_totals {
    const char * name; // ggml's own; lives as long as the trace
    uint64_t     ops, op_runs;
    uint64_t     wall_ns; // first begin to last end, summed over ops
    uint64_t     busy_ns; // summed over threads, without waits
    uint64_t     wait_ns; // summed over threads, in and after ops
    uint64_t     read, written, disk;
};

struct ggs_totals {
    uint64_t               steps, warmup_steps;
    uint64_t               prompt_tokens, generated_tokens;
    uint64_t               prompt_ns, generate_ns; // of steps, begin to end; generate_ns covers generate_steps
    uint64_t               generate_steps;
    uint64_t               threads; // the most in any run
    uint64_t               runs, interrupted_runs;
    uint64_t               nodes, executed, absorbed, empty, skipped, opaque, unseen, cut;
    uint64_t               ops, op_runs, dropped;
    bool                   proved;                      // recorded with --prove: its times mean nothing
    uint64_t               wall_ns;                     // first graph run's begin to last one's end
    uint64_t               read, written, disk, buffer; // bytes; disk + buffer = read + written
    uint64_t               buffers, peak_bytes;
    uint64_t               model_bytes, touched_bytes; // of the GGUF files that were opened
    uint64_t               n_by_op;                    // sorted by wall time, longest first
    struct ggs_op_totals * by_op;
    struct ggs_intervals * touched; // by file - 1
    uint64_t               n_touched;
    struct ggs_pattern     pattern;
};

// Which part of a recording is looked at. Counts of graph runs and nodes are those of the token range; layer and the like narrow the ops.
struct ggs_totals_range {
    int64_t first_step, last_step; // INT64_MIN, INT64_MAX: everything, warm-up included in what is no token
    int     layer;                 // -1: all of them
};
extern const struct ggs_totals_range ggs_totals_all;

int  ggs_totals_compute(struct ggs_totals * totals, struct ggs_trace * trace, const struct ggs_totals_range * range,
                        struct ggs_error * error);
void ggs_totals_release(struct ggs_totals * totals);
