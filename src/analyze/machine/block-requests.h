// Totals of the block requests of a recording: reads of the model, their sizes, speeds and order.
#pragma once

#include <stdint.h>

#include "analyze/machine/where.h"
#include "analyze/ops/histogram.h"
#include "analyze/ops/totals.h"
#include "analyze/walk/names.h"

struct ggs_request_sum {
    uint64_t requests, bytes;
};

struct ggs_request_group {
    const char *           name;  // weights; lives as long as the totals
    int64_t                order; // tokens: their number
    struct ggs_request_sum sum;
};

enum { GGS_REQUEST_BINS = 128 };

struct ggs_request_totals {
    struct ggs_request_sum     model;  // reads of the recording's files; the following is about these
    struct ggs_request_sum     other;  // other reads of the same disks
    struct ggs_request_sum     writes; // to the same disks
    struct ggs_request_sum     stages[GGS_STAGES];
    uint64_t                   sequential; // bytes of requests that begin where the previous one on their disk ended
    struct ggs_histogram       sizes, latencies;
    int64_t                    bin_begin_ns; // bandwidth over time: requested bytes per bin
    uint64_t                   bin_ns, n_bins;
    uint64_t                   bins[GGS_REQUEST_BINS];
    struct ggs_request_group * by_token; // by number
    uint64_t                   n_by_token, capacity_by_token;
    struct ggs_request_group * by_weight; // most bytes first
    uint64_t                   n_by_weight, capacity_by_weight;
    uint64_t                   lost;
    struct ggs_names *         names;
};

int  ggs_request_totals_compute(struct ggs_request_totals * totals, struct ggs_trace * trace,
                                const struct ggs_totals_range * range, struct ggs_error * error);
void ggs_request_totals_release(struct ggs_request_totals * totals);

// For timelines: bytes read from the recording's files, and all reads of their disks, in `n` equal
// bins. A request counts in the bin of its issue, its bytes in all bins until its completion.
struct ggs_request_bin {
    uint64_t requests;
    double   model, other; // bytes
};
int ggs_request_timeline(struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns, struct ggs_request_bin * bins,
                         uint64_t n, struct ggs_error * error);
