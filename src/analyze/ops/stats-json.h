// What a recording amounts to, as the members of a JSON object. Scripts rely on the names: ggscope-stats(1) has them all.
#pragma once

#include "analyze/ops/totals.h"
#include "analyze/walk/weights.h"
#include "base/json.h"

void ggs_stats_json_totals(struct ggs_json * json, const struct ggs_totals * totals);
void ggs_stats_json_by_op(struct ggs_json * json, const struct ggs_totals * totals);
void ggs_stats_json_weights(struct ggs_json * json, const struct ggs_weights * weights);
