// A short summary of a recording that needs no op runs.
#pragma once

#include "analyze/ops/overview.h"
#include "analyze/walk/model-map.h"
#include "answer/fields.h"

struct ggs_notes;

extern const struct ggs_object ggs_summary_object, ggs_summary_entry_object;

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
// A shorter form from trace and overview only: an entry of the server's library.
int ggs_summary_write_entry(struct ggs_json * json, const struct ggs_summary * summary, uint64_t index,
                            const struct ggs_notes * notes, struct ggs_error * error);
