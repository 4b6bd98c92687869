// The predicted cost of running with less memory than the model needs.
#pragma once

#include "analyze/paging/paging.h"
#include "answer/answer.h"

extern const struct ggs_object ggs_paging_object;
void ggs_paging_write(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_paging * paging,
                      const struct ggs_paging_options * options);

// Walks the curve of the least-recently-used cache: at most a thousand sizes at which it reads at
// least a thousandth less, with the bytes that it reads from there on. Start with a zeroed struct.
struct ggs_paging_curve {
    bool                   begun;
    uint64_t               next;
    struct ggs_paging_cost cost;
    uint64_t               memory;
};
bool ggs_paging_curve_next(struct ggs_paging_curve * curve, const struct ggs_paging * paging);
// Pages read divided by pages accessed.
double ggs_paging_miss_ratio(const struct ggs_paging * paging, const struct ggs_paging_cost * cost);
