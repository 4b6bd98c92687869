// What ops reach: bytes and floating point operations a second, how long each lasts, how evenly
// threads share the work, and what barriers cost. By phase, op and component, because the same op
// is bound by arithmetic in a prompt and by memory for one token; what devices computed apart,
// because the limits that are known are those of the host.
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
    bool         on_device;     // a device computed them
    uint64_t     ops, op_runs;  // with times
    uint64_t     wall_ns;       // first thread's begin to last thread's end
    uint64_t     busy_ns;       // summed over threads
    uint64_t     read, written; // bytes
    int64_t      flops;         // -1: not known for such an op
    // Of those that more than one thread computed, with waits that were seen:
    uint64_t shared;                  // so many ops
    uint64_t uneven_ns;               // threads waited so long, summed, because another one had more to do
    uint64_t barrier_ns;              // and so long beyond that: what meeting costs
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
