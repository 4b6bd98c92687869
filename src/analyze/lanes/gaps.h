// Gaps in a recording: times, numbers and reasons of lost op records, for timelines.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_gap {
    uint64_t reason; // enum ggs_loss_reason
    uint64_t lane;   // of the recorder
    uint64_t run;    // 0 if unknown, or more than one
    int64_t  begin_ns, end_ns;
    uint64_t count;
};

struct ggs_gaps {
    struct ggs_gap * gap; // by begin
    uint64_t         n, capacity;
};

// Lists gaps that touch [begin_ns, end_ns). A loss in one graph run extends over the run.
int  ggs_gaps_list(struct ggs_gaps * gaps, struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns,
                   struct ggs_error * error);
void ggs_gaps_release(struct ggs_gaps * gaps);
