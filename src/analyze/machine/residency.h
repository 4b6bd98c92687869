// Residency of the model's files by snapshot, compared with what ops touched.
#pragma once

#include <stdint.h>

#include "analyze/ops/totals.h"

struct ggs_resident { // one snapshot
    uint64_t snapshot;
    uint64_t moment; // enum ggs_moment
    int64_t  step;   // -1 for none
    int64_t  ns;
    uint64_t bytes;     // in memory
    uint64_t untouched; // of these, in pages that no op touches
};

struct ggs_resident_list {
    struct ggs_resident * snapshot;
    uint64_t              n;
    uint64_t              bytes; // of the files in the snapshots
};

// `totals`: of the whole recording, for the touched bytes.
int  ggs_resident_list(struct ggs_resident_list * list, struct ggs_trace * trace, const struct ggs_totals * totals,
                       struct ggs_error * error);
void ggs_resident_release(struct ggs_resident_list * list);

// Returns the latest snapshot of a moment, NULL if there is none.
const struct ggs_resident * ggs_resident_last(const struct ggs_resident_list * list, uint64_t moment);
