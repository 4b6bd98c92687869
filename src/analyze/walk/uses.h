// Which bytes do the ops of many graph runs touch? Without walking over their op runs.
//
// A dense op touches the same bytes in every run of its graph: it is enough to look at one run of
// each graph and to count the others. Only ops whose bytes the index data decides (rows, experts)
// are looked at run by run. Runs that are not whole, or that computed other nodes than the first of
// their graph, are gone through op by op. Runs that were seen as a whole only touch what their
// graph says. With a trace->filter only ops that it leaves count; one that asks for times or places
// is answered op by op.
#pragma once

#include <stdint.h>

#include "analyze/walk/access.h"

struct ggs_uses_visitor {
    void * context;
    // The accesses of one op: of one run, or the same in `times` runs of which this was the last.
    // Return 0, or negative to end it.
    int (*access)(void * context, uint64_t run, uint64_t node, uint64_t op, const struct ggs_access_list * list,
                  uint64_t times, struct ggs_error * error);
    // After each run, in order: bytes that it read from mapped files. May be NULL.
    int (*run)(void * context, const struct ggs_run * run, uint64_t disk, struct ggs_error * error);
};

// Token steps first..last, warm-up left out; INT64_MIN and INT64_MAX for every run, warm-up
// included.
int ggs_uses_visit(struct ggs_trace * trace, int64_t first_step, int64_t last_step,
                   const struct ggs_uses_visitor * visitor, struct ggs_error * error);
