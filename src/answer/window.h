// What happened in a window of time: docs/schemas/window.schema.json.
#pragma once

#include "analyze/ops/window.h"
#include "answer/answer.h"

void ggs_window_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_window * window);
