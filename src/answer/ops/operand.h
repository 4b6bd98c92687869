// Tensors as operands of ops: what they are, which of their bytes are touched, and where those lie.
#pragma once

#include "analyze/walk/access.h"
#include "base/json.h"

// "type" and "shape", without trailing dimensions of 1. NULL gives null and [].
void ggs_answer_type(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_tensor * tensor);
// "source", "file", "file_offset", "buffer", "buffer_offset", "origin_file", "origin_offset" of the byte at `offset` of a tensor. NULL
// gives nulls.
void ggs_answer_place(struct ggs_json * json, const struct ggs_tensor * tensor, uint64_t offset);

struct ggs_operand {
    const struct ggs_tensor * tensor;
    uint32_t                  slot; // GGS_ACCESS_RESULT for the result
    bool                      write, exact;
    uint64_t                  bytes, offset; // of the first byte that is touched, from the operand's first
    uint64_t                  n_ranges;
    const struct ggs_range *  ranges; // NULL if they are not wanted
};
void ggs_answer_operand(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_operand * operand);
