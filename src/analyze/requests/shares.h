// Ops added up by request or by sequence: each token step's costs, divided by tokens among those
// that took part. That is an estimate: a batch reads its weights once for all. Ops and op runs are
// those that it took part in, undivided.
#pragma once

#include "analyze/ops/groups.h"

// `by` is GGS_BY_REQUEST or GGS_BY_SEQUENCE. A sequence is named with its context if there are
// several.
int ggs_shares_compute(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                       const struct ggs_totals_range * range, struct ggs_error * error);

// ---- for analyze/requests ----

// The costs of each token step, by number, with how many tokens it fed.
struct ggs_step_costs {
    struct ggs_groups groups;
    uint64_t *        tokens; // beside groups.group
};

struct ggs_step_share {
    uint64_t ops, op_runs, wall_ns, busy_ns, wait_ns, read, written, disk;
    bool     unwaited; // of wait_ns not all was seen
    uint64_t untimed;  // ops of those whose times were not seen
};

int  ggs_step_costs_compute(struct ggs_step_costs * costs, struct ggs_trace * trace,
                            const struct ggs_totals_range * range, struct ggs_error * error);
void ggs_step_costs_release(struct ggs_step_costs * costs);
// What so many of a step's tokens cost; false if the step has no ops, or is not in the range.
bool ggs_step_costs_share(const struct ggs_step_costs * costs, int64_t step, uint64_t tokens,
                          struct ggs_step_share * share);
