// What the files of `ggscope stats` share.
#pragma once

#include "analyze/machine/conditions.h"
#include "analyze/machine/faults.h"
#include "analyze/machine/loading.h"
#include "analyze/machine/requests.h"
#include "analyze/machine/residency.h"
#include "analyze/ops/groups.h"
#include "analyze/walk/weights.h"

struct ggs_json;

struct stats_report {
    struct ggs_trace * trace;
    struct ggs_totals  totals;
    struct ggs_groups  groups; // n is 0 where none were asked for
    struct ggs_weights weights;
    // what was set on the machine, and what it did
    struct ggs_conditions     conditions;
    struct ggs_loading        loading;
    struct ggs_resident_list  resident;
    struct ggs_fault_totals   faults;
    struct ggs_request_totals requests;
    const char *              by;        // "op", "layer", ...
    uint64_t                  bandwidth; // of the memory, bytes per second; 0 where it was not probed
};

int stats_text(const struct stats_report * report); // 0, or -1 where it could not be written
int stats_json(const struct stats_report * report);

// The machine's part of both: nothing where nothing was observed.
void stats_machine_text(const struct stats_report * report);
void stats_machine_json(struct ggs_json * json, const struct stats_report * report);
// Their parts about the conditions of the recording, loading, and what was in memory.
void stats_pressure_text(const struct stats_report * report);
void stats_pressure_json(const struct stats_report * report, struct ggs_json * json);
