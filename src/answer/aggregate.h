// What happened in a window of time: docs/schemas/aggregate.schema.json.
#pragma once

#include "analyze/ops/aggregate.h"
#include "answer/answer.h"

void ggs_aggregate_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_aggregate * window);
