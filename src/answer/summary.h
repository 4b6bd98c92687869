// What was recorded, in a sentence or two, without a look at any op run: docs/schemas/summary.schema.json.
#pragma once

#include "analyze/ops/overview.h"
#include "analyze/walk/model-map.h"

struct ggs_json;

struct ggs_summary {
    const char *                 name, *directory, *state;
    bool                         live;
    struct ggs_trace *           trace;
    const struct ggs_overview *  overview;
    const struct ggs_model_map * map;
    uint64_t                     levels[64]; // of detail, as powers of two
    unsigned                     n_levels;
};

int ggs_summary_write(struct ggs_json * json, const struct ggs_summary * summary, struct ggs_error * error);
// Of trace and overview alone, into an object that is open: an entry of docs/schemas/library.schema.json.
int ggs_summary_write_short(struct ggs_json * json, const struct ggs_summary * summary, struct ggs_error * error);
