// The weights of a recording's models: which were read how much, and which bytes never.
#pragma once

#include <stdint.h>

#include "analyze/ops/totals.h"

struct ggs_weight {
    const char * name; // lives as long as the list
    const char * file; // path
    uint64_t     size, touched;
    uint64_t     reads, bytes; // bytes counts what is read again
};

struct ggs_weights {
    struct ggs_weight * weight; // most bytes read first, then by what was never touched
    uint64_t            n;
    uint64_t            unread; // files that are not there any more
    void *              owned;
};

int  ggs_weights_list(struct ggs_weights * weights, struct ggs_trace * trace, const struct ggs_totals * totals,
                      struct ggs_error * error);
void ggs_weights_release(struct ggs_weights * weights);
