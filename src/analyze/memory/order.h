// The tensors of a model's file in the order in which ops read them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/walk/trace.h"
#include "gguf/gguf.h"

struct ggs_use_order {
    size_t * tensors; // of gguf->tensors, all of them
    size_t   n_used;  // how many of them an op read; those that none did come last, as the file has them
};

// Those of the last generated token, in order of their first use; then what only the first step reads (an encoder). Tensors of which only rows are
// read (embeddings) come first. GGS_USAGE if the recording is not one of this model.
int  ggs_use_order_find(struct ggs_use_order * order, struct ggs_trace * trace, const struct ggs_gguf * gguf,
                        struct ggs_error * error);
void ggs_use_order_release(struct ggs_use_order * order);
