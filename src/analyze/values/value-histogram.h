// The distribution of the elements of an output that was recorded whole (record --values-dump).
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_VALUE_BINS = 40 };

struct ggs_value_histogram {
    double   least, most;            // of the finite elements
    uint64_t elements;               // finite ones; 0 if not recorded or of an unsupported type
    uint64_t counts[GGS_VALUE_BINS]; // equal bins from least to most
    uint64_t bins;
};

// For the output of a node of type F32, F16 or BF16.
int ggs_value_histogram_compute(struct ggs_value_histogram * histogram, struct ggs_trace * trace, uint64_t run,
                                uint64_t node, uint64_t tensor, struct ggs_error * error);
