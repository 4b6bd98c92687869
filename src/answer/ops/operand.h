// Tensors as operands of ops: what they are, which of their bytes are touched, and where those lie.
#pragma once

#include "analyze/walk/access.h"
#include "answer/fields.h"

// A byte of a tensor. `tensor` NULL gives nulls.
struct ggs_tensor_at {
    const struct ggs_tensor * tensor;
    uint64_t                  offset;
};
extern const struct ggs_object ggs_type_object;  // "type", and "shape" without trailing dimensions of 1
extern const struct ggs_object ggs_place_object; // "source" and where that byte lies

struct ggs_operand {
    struct ggs_tensor_at     at;   // first byte that is touched
    uint32_t                 slot; // GGS_ACCESS_RESULT for the result
    bool                     write, exact;
    uint64_t                 bytes;
    uint64_t                 n_ranges;
    const struct ggs_range * ranges; // NULL if they are not wanted
};
extern const struct ggs_object ggs_operand_object;        // without ranges
extern const struct ggs_object ggs_ranged_operand_object; // with them

// When an op ran, in all.
struct ggs_op_times {
    bool     opaque;   // none of it was seen
    bool     unwaited; // waits were not seen
    int64_t  begin_ns, end_ns;
    uint64_t busy_ns, wait_ns;
    int64_t  submit_ns, host_ns; // -1: not known
};
extern const struct ggs_object ggs_op_times_object;
// From any struct that has members of these names.
#define GGS_OP_TIMES(op)                                                                                           \
    (struct ggs_op_times) {                                                                                        \
        (op)->opaque, (op)->unwaited, (op)->begin_ns, (op)->end_ns, (op)->busy_ns, (op)->wait_ns, (op)->submit_ns, \
            (op)->host_ns                                                                                          \
    }
