// The card of one op: times by thread, operands with their bytes, experts, and the ops before, behind and around it.
#pragma once

#include "analyze/ops/overview.h"
#include "answer/answer.h"

// Writes the whole object. A node that was computed together with another gives that one's. GGS_ABSENT if there is no such run, or the
// node was not computed.
int ggs_op_write(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_overview * overview, uint64_t run,
                 uint64_t node, struct ggs_error * error);
