// What `ggscope stream` would read: weights that every token uses are kept or read again for each
// use, experts lie in slots.
#pragma once

#include "analyze/paging/pin.h"

// `memory` is what there is beside what the engine itself holds. False in *streams, and no cost, if
// it is too little to stream with, or so much that the model fits. Experts that would be read early
// in vain are not counted: which those are depends on values that a recording does not have.
int ggs_paging_stream(struct ggs_paging_cost * cost, bool * streams, const struct ggs_paging_weights * weights,
                      const struct ggs_paging_sequence * sequence, uint64_t memory, struct ggs_error * error);
