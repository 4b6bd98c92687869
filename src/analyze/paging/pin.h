// The best fixed set of weights to keep in memory, with all others streamed through the rest.
//
// A weight is a tensor, or one expert of a tensor. Keeping it saves its pages at each read that
// would miss. Weights that save most per page are taken first, as long as they fit. Kept weights
// are read at load, or at their first use without a load.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/paging/linux.h"
#include "analyze/walk/trace.h"

struct ggs_paging_weight {
    const char * name;      // of the tensor; lives as long as the trace
    int64_t      expert;    // -1: none, or all of them
    uint64_t     n_experts; // of the tensor, if this is one of them
    uint64_t     file;      // from 0
    uint64_t     offset, size;
    uint32_t     first_block, n_blocks; // blocks that begin in it
    uint64_t     pages;                 // that it occupies, or of these blocks if they have more
};

struct ggs_paging_weights {
    struct ggs_paging_weight * weight; // by file and offset; only weights that ops read
    uint64_t                   n;
};

// `experts`: one entry per expert. The sequence must be finished.
int  ggs_paging_weights_list(struct ggs_paging_weights * weights, struct ggs_trace * trace,
                             const struct ggs_paging_sequence * sequence, bool experts, struct ggs_error * error);
void ggs_paging_weights_release(struct ggs_paging_weights * weights); // a zeroed struct is fine

struct ggs_paging_pins {
    uint32_t * weight; // indices of weights, ascending
    uint64_t   n;
    uint64_t   bytes;  // of their pages
    uint64_t   stream; // memory for all others
};

// Chooses the set for this amount of memory, and computes the bytes read.
int  ggs_paging_pin(struct ggs_paging_pins * pins, struct ggs_paging_cost * cost,
                    const struct ggs_paging_weights * weights, const struct ggs_paging_sequence * sequence,
                    uint64_t memory, struct ggs_error * error);
void ggs_paging_pins_release(struct ggs_paging_pins * pins); // a zeroed struct is fine
