// How the elements of an output that was kept whole (record --values-dump) are distributed.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_VALUE_BINS = 40 };

struct ggs_value_histogram {
    double   least, most;            // of the finite elements
    uint64_t elements;               // finite ones; 0: not kept, or of a type that is not understood
    uint64_t counts[GGS_VALUE_BINS]; // even bins from least to most
    uint64_t bins;
};

// Of the output of a node. F32, F16 and BF16 are understood.
int ggs_value_histogram_compute(struct ggs_value_histogram * histogram, struct ggs_trace * trace, uint64_t run,
                                uint64_t node, uint64_t tensor, struct ggs_error * error);
