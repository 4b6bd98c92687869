// Tensors as operands of ops: type, touched bytes, and their place.
#pragma once

#include "analyze/walk/access.h"
#include "answer/fields.h"

// A byte of a tensor. `tensor` NULL writes nulls.
struct ggs_tensor_at {
    const struct ggs_tensor * tensor;
    uint64_t                  offset;
};
extern const struct ggs_object ggs_type_object;  // "type", and "shape" without trailing dimensions of 1
extern const struct ggs_object ggs_place_object; // "source" and the place of that byte

struct ggs_operand {
    struct ggs_tensor_at     at;   // first touched byte
    uint32_t                 slot; // GGS_ACCESS_RESULT for the result
    bool                     write, exact;
    uint64_t                 bytes;
    uint64_t                 n_ranges;
    const struct ggs_range * ranges; // NULL if not requested
};
extern const struct ggs_object ggs_operand_object;        // without ranges
extern const struct ggs_object ggs_ranged_operand_object; // with them

// The times of an op over all threads.
struct ggs_op_times {
    bool     opaque;   // nothing of it was seen
    bool     unwaited; // waits were not seen
    int64_t  begin_ns, end_ns;
    uint64_t busy_ns, wait_ns;
    int64_t  submit_ns, host_ns; // -1: unknown
};
extern const struct ggs_object ggs_op_times_object;
// Makes one from any struct that has members of these names.
#define GGS_OP_TIMES(op)                                                                                           \
    (struct ggs_op_times) {                                                                                        \
        (op)->opaque, (op)->unwaited, (op)->begin_ns, (op)->end_ns, (op)->busy_ns, (op)->wait_ns, (op)->submit_ns, \
            (op)->host_ns                                                                                          \
    }
