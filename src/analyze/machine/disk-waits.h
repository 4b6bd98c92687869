// Waits for the disk in a recording of `ggscope stream`: a thread reached an op whose weights were
// still being read.
//
// A row of `streamed` has the wait of thread 0 at the start of the op. The other threads reach the
// op at their own times and wait until thread 0 is done.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_disk_wait {
    uint64_t run, node, thread; // node: UINT64_MAX for the sum of the run's ops
    int64_t  slot;
    int64_t  begin_ns, end_ns; // range of the wait
    uint64_t wait_ns;          // duration: the whole range, unless it is a sum
};

typedef void (*ggs_disk_wait_visitor)(void * context, const struct ggs_disk_wait * wait);

// Visits the waits of graph runs that touch [begin_ns, end_ns), one per op and thread. For more
// than a few runs it visits their sums, without reading op runs.
int ggs_disk_waits_visit(struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns, ggs_disk_wait_visitor visit,
                         void * context, struct ggs_error * error);
