// Which experts were chosen: the answer of `ggscope experts --json` and of the server.
#pragma once

#include "analyze/ops/experts.h"
#include "answer/answer.h"

void ggs_experts_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_experts * experts);
