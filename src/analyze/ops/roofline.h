// The performance of ops: bytes and floating point operations per second, duration, load balance of
// threads, and cost of barriers. Grouped by phase, op and component, because the same op is bound
// by arithmetic in a prompt and by memory for one token. Ops of devices are separate, because the
// known limits are the host's.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/ops/totals.h"
#include "analyze/walk/names.h"

enum { GGS_ROOFLINE_BINS = 48 };

struct ggs_roofline_row {
    uint64_t     phase;         // enum ggs_phase
    const char * op;            // ggml's name
    const char * component;     // of the weight that it reads, as in groups.h
    bool         on_device;     // computed by a device
    uint64_t     ops, op_runs;  // with times
    uint64_t     wall_ns;       // from the first thread's start to the last thread's end
    uint64_t     busy_ns;       // summed over threads
    uint64_t     read, written; // bytes
    int64_t      flops;         // -1: unknown for such an op
    uint64_t     attention_ns;  // of wall_ns: products with scores, softmax, fused attention
    uint64_t     attention_read;
    // Of ops on more than one thread, with waits that were seen:
    uint64_t shared;                  // number of ops
    uint64_t uneven_ns;               // waits for threads with more work, summed
    uint64_t barrier_ns;              // waits beyond that: the cost of barriers
    uint64_t shared_ns;               // their busy time
    uint64_t bins[GGS_ROOFLINE_BINS]; // ops by duration: bin i has those of 2^i to 2^(i+1) ns
};

struct ggs_roofline {
    struct ggs_roofline_row * row; // longest wall time first
    uint64_t                  n, capacity;
    struct ggs_names *        names;
};

int  ggs_roofline_compute(struct ggs_roofline * roofline, struct ggs_trace * trace,
                          const struct ggs_totals_range * range, struct ggs_error * error);
void ggs_roofline_release(struct ggs_roofline * roofline);
