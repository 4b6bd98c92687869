// What `ggscope stream` did in a recording of it, added up.
#pragma once

#include <stdint.h>

#include "analyze/ops/totals.h"

struct ggs_streamed_totals {
    uint64_t uses;   // weights that ops used; 0: nothing was streamed, or it was not recorded
    uint64_t mapped; // of these, left to the mapping
    uint64_t runs, run_ns;
    uint64_t bytes_read, bytes_early;
    uint64_t hits, misses, predicted, predicted_used; // of experts, counted for each of their weights
    uint64_t waits, wait_ns;
};

int ggs_streamed_compute(struct ggs_streamed_totals * totals, struct ggs_trace * trace,
                         const struct ggs_totals_range * range, struct ggs_error * error);
