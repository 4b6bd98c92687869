// The weights of a recording's models: bytes read of each, and bytes never touched.
//
// A model's file consists of tensors and the rest: header, key-values, tensor infos and padding,
// which no op reads. The rest is never called cold. A tensor with some rows or experts read counts
// as partly touched.
#pragma once

#include <stdint.h>

#include "analyze/ops/totals.h"
#include "analyze/walk/model-map.h"

struct ggs_weight_totals {
    const char * name; // lives as long as the list
    const char * file; // path
    uint64_t     size, touched;
    uint64_t     unknown;      // in addition: partly read, unknown which part
    uint64_t     reads, bytes; // bytes: with repetitions
};

struct ggs_weights {
    struct ggs_weight_totals *        weight; // most bytes read first, then by untouched bytes
    uint64_t                          n;
    const struct ggs_weight_totals ** cold; // those with untouched bytes, most of them first
    uint64_t                          n_cold;
    uint64_t                          bytes, touched;           // of all tensors
    uint64_t                          never, never_bytes;       // tensors without any touched byte
    uint64_t                          partial, untouched_bytes; // partly touched: number, and untouched bytes
    uint64_t                          unknown, unknown_bytes;   // read, unknown which part: in neither of the above
    uint64_t                          unread;                   // missing files: only tensors named by graphs are known
    struct ggs_model_map              map;
};

int  ggs_weights_list(struct ggs_weights * weights, struct ggs_trace * trace, const struct ggs_totals * totals,
                      struct ggs_error * error);
void ggs_weights_release(struct ggs_weights * weights);
