// Totals of `ggscope stream` in a recording of it.
#pragma once

#include <stdint.h>

#include "analyze/ops/totals.h"

struct ggs_streamed_totals {
    uint64_t uses;   // weights used by ops; 0: nothing was streamed or recorded
    uint64_t mapped; // of these, left to the mapping
    uint64_t runs, run_ns;
    uint64_t bytes_read, bytes_early;
    uint64_t hits, misses, predicted, predicted_used; // of experts, counted per weight
    uint64_t waits, wait_ns;
};

int ggs_streamed_compute(struct ggs_streamed_totals * totals, struct ggs_trace * trace,
                         const struct ggs_totals_range * range, struct ggs_error * error);
