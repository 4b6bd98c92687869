// Simulates `ggscope stream`: weights that every token uses are kept or read for each use, experts
// are in slots.
#pragma once

#include "analyze/paging/pin.h"

// `memory`: bytes besides the engine's own. Sets *streams to false, without a cost, if that is too
// little for streaming, or if the model fits. Wrong predictions of experts are not counted, because
// they depend on values that a recording lacks.
int ggs_paging_stream(struct ggs_paging_cost * cost, bool * streams, const struct ggs_paging_weights * weights,
                      const struct ggs_paging_sequence * sequence, uint64_t memory, struct ggs_error * error);
