// The best fixed set of weights to keep in memory for good, while all others are streamed through
// what is left.
//
// A weight is a tensor, or one expert of a tensor of experts. Keeping it saves its pages each time
// that they are read and would not be there anyway; those that save most per page of memory are
// taken first, as long as they fit. What is kept is read at load, or when it is read first if there
// is no load.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/paging/linux.h"
#include "analyze/walk/trace.h"

struct ggs_paging_weight {
    const char * name;   // of the tensor; lives as long as the trace
    int64_t      expert; // -1: none, or all of them
    uint64_t     file;   // from 0
    uint64_t     offset, size;
    uint32_t     first_block, n_blocks; // those that begin in it
    uint64_t     pages;                 // that it lies in, or of these blocks if they have more
};

struct ggs_paging_weights {
    struct ggs_paging_weight * weight; // by file and offset; only those that ops read
    uint64_t                   n;
};

// `experts`: one by one. The sequence must be finished.
int  ggs_paging_weights_list(struct ggs_paging_weights * weights, struct ggs_trace * trace,
                             const struct ggs_paging_sequence * sequence, bool experts, struct ggs_error * error);
void ggs_paging_weights_release(struct ggs_paging_weights * weights); // a zeroed struct is fine

struct ggs_paging_pins {
    uint32_t * weight; // numbers of weights, ascending
    uint64_t   n;
    uint64_t   bytes;  // of their pages
    uint64_t   stream; // memory for all others
};

// Chooses the set for this much memory, and what would be read.
int  ggs_paging_pin(struct ggs_paging_pins * pins, struct ggs_paging_cost * cost,
                    const struct ggs_paging_weights * weights, const struct ggs_paging_sequence * sequence,
                    uint64_t memory, struct ggs_error * error);
void ggs_paging_pins_release(struct ggs_paging_pins * pins); // a zeroed struct is fine
