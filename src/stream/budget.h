// How much memory weights may take, and when that is decided anew.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Would these bytes of model files fit beside what the process holds? Asked when a file is mapped, before anything is known of the engine's buffers.
bool ggs_budget_fits_early(uint64_t model_bytes);

// Is a decision due: weights were seen that none was taken for, or memory is short? `grown`: the engine is about to take more than before.
// `piece`: the graph is a small part of one that is run in pieces, which shows its weights one by one; then it is waited until no more come. `used`: bytes of the weights in this graph.
bool ggs_budget_due(bool grown, bool piece, uint64_t used);

// The model was found to fit. Is it time to look whether it still does? Once a second; cheap, from any thread.
bool ggs_budget_is_time(void);

// Does it no longer, because others took memory? One thread at a time.
bool ggs_budget_outgrown(void);

// Takes it. False if nothing is to be streamed, which it says. Nothing may be in flight or in use.
bool ggs_budget_decide(void);
