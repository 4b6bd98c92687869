// Simulates `ggscope stream`: weights that every token uses are kept or read for each use, experts
// are in slots.
#pragma once

#include "analyze/paging/pin.h"

// `memory`: bytes besides the engine's own. Sets *streams to false, without a cost, if that is too
// little for streaming, or if the model fits.
//
// Bytes are those that tokens need, without the rest of pages. Empty slots are filled behind the
// first step, as if the disk had time. Wrong predictions of experts are not counted: they depend on
// values that a recording lacks, and are read only while the disk has time.
int ggs_paging_stream(struct ggs_paging_cost * cost, bool * streams, const struct ggs_paging_weights * weights,
                      const struct ggs_paging_sequence * sequence, uint64_t memory, struct ggs_error * error);
