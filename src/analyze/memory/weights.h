// The weights of a recording's models: how much of each was read, and what was never touched.
//
// Bytes of a model's file are those of tensors and the rest: header, key-values, tensor infos and
// padding, which no op reads. The rest is never called cold. A tensor of which only some rows or
// experts were read counts as touched in part.
#pragma once

#include <stdint.h>

#include "analyze/ops/totals.h"
#include "analyze/walk/model-map.h"

struct ggs_weight_totals {
    const char * name; // lives as long as the list
    const char * file; // path
    uint64_t     size, touched;
    uint64_t     unknown;      // besides: some of it was read, but which was not seen
    uint64_t     reads, bytes; // bytes counts what is read again
};

struct ggs_weights {
    struct ggs_weight_totals *        weight; // most bytes read first, then by what was never touched
    uint64_t                          n;
    const struct ggs_weight_totals ** cold; // those with bytes that were never touched, most of such bytes first
    uint64_t                          n_cold;
    uint64_t                          bytes, touched;     // of all tensors
    uint64_t                          never, never_bytes; // tensors that were not touched at all
    uint64_t             partial, untouched_bytes;        // touched in part: how many, and the bytes that were not
    uint64_t             unknown, unknown_bytes;          // read, but not known which part: neither of the two above
    uint64_t             unread; // files that are not there any more: only what graphs name is known of them
    struct ggs_model_map map;
};

int  ggs_weights_list(struct ggs_weights * weights, struct ggs_trace * trace, const struct ggs_totals * totals,
                      struct ggs_error * error);
void ggs_weights_release(struct ggs_weights * weights);
