// Waits for the disk in a recording of `ggscope stream`: a thread came to an op whose weights were
// still on their way.
//
// A row of `streamed` says how long thread 0 waited; it does so when the op begins. The other
// threads come to the op in their own time and wait until thread 0 has what it needs.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_disk_wait {
    uint64_t run, node, thread; // node: UINT64_MAX if it is the sum of all the run's ops
    int64_t  slot;
    int64_t  begin_ns, end_ns; // between them,
    uint64_t wait_ns;          // so long: all of it, unless it is a sum
};

typedef void (*ggs_disk_waits_see)(void * context, const struct ggs_disk_wait * wait);

// Those of graph runs that touch [begin_ns, end_ns), one for each op and thread. Of more than a few
// runs their sums: op runs are not looked at.
int ggs_disk_waits_visit(struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns, ggs_disk_waits_see see,
                         void * context, struct ggs_error * error);
