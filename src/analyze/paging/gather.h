// The reads of model bytes in a recording, as a sequence of pages.
#pragma once

#include "analyze/paging/sequence.h"
#include "analyze/walk/trace.h"

struct ggs_paging_facts {
    uint64_t                 steps[GGS_READ_CLASSES]; // token steps: PROMPT, and GENERATE, which includes mixed ones
    uint64_t                 copied;                  // read by ops from weights copied at load
    struct ggs_stray_weights stray;                   // of unknown origin: not in the sequence
    uint64_t                 unknown; // ops whose rows or experts were not recorded: their operands count fully
};

// For token steps first..last, without warm-up, in the order of ops, with ascending ranges per op.
// Weights copied at load count at their origin. The caller finishes the sequence, and releases it
// even after a failure.
int ggs_paging_gather(struct ggs_paging_sequence * sequence, struct ggs_paging_facts * facts, struct ggs_trace * trace,
                      uint64_t page, int64_t first_step, int64_t last_step, struct ggs_error * error);
