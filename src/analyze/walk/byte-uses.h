// The bytes touched by the ops of many graph runs, without walking their op runs.
//
// A dense op touches the same bytes in every run of its graph: one run of each graph is examined,
// and the others are counted. Only ops with index data (rows, experts) are examined per run.
// Incomplete runs, and runs with other nodes than the first of their graph, are walked op by op.
// Runs that are seen as a whole touch what their graph says. With a trace->filter only matching ops
// count; a filter on times or places is evaluated op by op.
#pragma once

#include <stdint.h>

#include "analyze/walk/access.h"

struct ggs_uses_visitor {
    void * context;
    // Called with the accesses of one op: in one run, or in `times` runs in which they are equal,
    // the last of which is `run`. Returns 0, or a negative status to stop.
    int (*access)(void * context, uint64_t run, uint64_t node, uint64_t op, const struct ggs_access_list * list,
                  uint64_t times, struct ggs_error * error);
    // Called after each run, in order: bytes that it read from mapped files. May be NULL.
    int (*run)(void * context, const struct ggs_run * run, uint64_t disk, struct ggs_error * error);
};

// For token steps first..last without warm-up; INT64_MIN and INT64_MAX for every run with warm-up.
int ggs_uses_visit(struct ggs_trace * trace, int64_t first_step, int64_t last_step,
                   const struct ggs_uses_visitor * visitor, struct ggs_error * error);
