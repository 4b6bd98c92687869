// What the files of `ggscope stats` share.
#pragma once

#include "analyze/groups.h"
#include "analyze/loading.h"
#include "analyze/residency.h"
#include "analyze/weights.h"
#include "cli/conditions.h"

struct stats_report {
    struct ggs_trace *       trace;
    struct ggs_totals        totals;
    struct ggs_groups        groups; // n is 0 where none were asked for
    struct ggs_weights       weights;
    struct ggs_conditions    conditions;
    struct ggs_loading       loading;
    struct ggs_resident_list resident;
    const char *             by;        // "op", "layer", ...
    uint64_t                 bandwidth; // of the memory, bytes per second; 0 where it was not probed
};

int stats_text(const struct stats_report * report); // 0, or -1 where it could not be written
int stats_json(const struct stats_report * report);

// Their parts about the conditions of the recording, loading, and what was in memory.
struct ggs_json;
void stats_pressure_text(const struct stats_report * report);
void stats_pressure_json(const struct stats_report * report, struct ggs_json * json);
