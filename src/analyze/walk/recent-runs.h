// Graph runs by number, for tables in order of time: going back a few runs is fine.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_RECENT_RUNS = 64 };

struct ggs_recent_runs {
    struct ggs_cursor * cursor;
    struct ggs_run      runs[GGS_RECENT_RUNS]; // by row modulo their number
    uint64_t            n;                     // number of runs read
};

int  ggs_recent_runs_open(struct ggs_recent_runs * recent, struct ggs_trace * trace, struct ggs_error * error);
void ggs_recent_runs_close(struct ggs_recent_runs * recent); // a zeroed struct is fine
// *out is NULL if there is no such run, or it is too far back.
int ggs_recent_runs_find(struct ggs_recent_runs * recent, uint64_t run, const struct ggs_run ** out,
                         struct ggs_error * error);
