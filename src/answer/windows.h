// When a recording was made: the member "windows" of docs/schemas/stats.schema.json and summary.schema.json.
#pragma once

#include "analyze/ops/windows.h"
#include "base/json.h"

// null if it was never paused and nothing was marked.
void ggs_windows_answer(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_windows * windows);
