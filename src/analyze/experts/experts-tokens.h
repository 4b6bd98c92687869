// The choices of experts by token, for experts.c. An op has the choices of all tokens of a batch
// for one layer; these are transposed, so that each token is seen with all its layers, after the
// previous token.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/experts/experts.h"

enum { GGS_EXPERT_CHOICE = 64 }; // maximum experts per token and layer

struct ggs_expert_tokens;

// Prepares the working sets of `experts`: `window` tokens, or several windows if it is 0.
int  ggs_expert_tokens_new(struct ggs_expert_tokens ** out, struct ggs_experts * experts, uint64_t window,
                           struct ggs_error * error);
void ggs_expert_tokens_free(struct ggs_expert_tokens * tokens); // NULL is fine

// Begins a token step: reads the sequences of its tokens.
int ggs_expert_tokens_step(struct ggs_expert_tokens * tokens, struct ggs_trace * trace, int64_t step,
                           struct ggs_error * error);

// Adds a choice of the batch: ids[token * used + rank]. Several ops of a layer share one (gate, up,
// down); *first is true for the first of them. `bytes`: size of one expert in the op's matrix.
int ggs_expert_tokens_add(struct ggs_expert_tokens * tokens, uint64_t layer, uint64_t ids_tensor, const int64_t * ids,
                          uint64_t used, uint64_t n_tokens, uint64_t bytes, bool * first, struct ggs_error * error);

// Counts the complete batch.
int ggs_expert_tokens_flush(struct ggs_expert_tokens * tokens, struct ggs_experts * experts, struct ggs_error * error);
