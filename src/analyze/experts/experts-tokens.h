// The choices of experts token by token, for experts.c. An op names the choices of all tokens of a
// batch for one layer; here they are turned around, so that each token is seen with all its layers,
// after the one before it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/experts/experts.h"

enum { GGS_EXPERT_CHOICE = 64 }; // most experts that one token may choose in a layer

struct ggs_expert_tokens;

// Prepares the working sets of `experts`: `window` tokens, or several windows if it is 0.
int  ggs_expert_tokens_new(struct ggs_expert_tokens ** out, struct ggs_experts * experts, uint64_t window,
                           struct ggs_error * error);
void ggs_expert_tokens_free(struct ggs_expert_tokens * tokens); // NULL is fine

// A new token step begins: learns which sequences its tokens belong to.
int ggs_expert_tokens_step(struct ggs_expert_tokens * tokens, struct ggs_trace * trace, int64_t step,
                           struct ggs_error * error);

// A choice of the batch: ids[token * used + rank]. Several ops of a layer share one (gate, up,
// down); *first says whether this is the first of them. `bytes`: of the op's matrix of one expert.
int ggs_expert_tokens_add(struct ggs_expert_tokens * tokens, uint64_t layer, uint64_t ids_tensor, const int64_t * ids,
                          uint64_t used, uint64_t n_tokens, uint64_t bytes, bool * first, struct ggs_error * error);

// The batch is complete: counts it.
int ggs_expert_tokens_flush(struct ggs_expert_tokens * tokens, struct ggs_experts * experts, struct ggs_error * error);
