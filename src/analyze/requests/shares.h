// Sums of ops by request or sequence: the costs of each token step, divided by tokens among the
// participants. This is an estimate: a batch reads its weights once for all. Ops and op runs are
// not divided.
#pragma once

#include "analyze/ops/groups.h"

// `by` is GGS_BY_REQUEST or GGS_BY_SEQUENCE. The name of a sequence includes its context if there
// are several.
int ggs_shares_compute(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                       const struct ggs_totals_range * range, struct ggs_error * error);

// ---- for analyze/requests ----

// The costs of each token step by number, with the number of tokens fed.
struct ggs_step_costs {
    struct ggs_groups groups;
    uint64_t *        tokens; // parallel to groups.group
};

struct ggs_step_share {
    uint64_t ops, op_runs, wall_ns, busy_ns, wait_ns, read, written, disk;
    bool     unwaited; // wait_ns is incomplete
    uint64_t untimed;  // ops without times
};

int  ggs_step_costs_compute(struct ggs_step_costs * costs, struct ggs_trace * trace,
                            const struct ggs_totals_range * range, struct ggs_error * error);
void ggs_step_costs_release(struct ggs_step_costs * costs);
// Returns the cost of some of a step's tokens; false if the step has no ops, or is not in the
// range.
bool ggs_step_costs_share(const struct ggs_step_costs * costs, int64_t step, uint64_t tokens,
                          struct ggs_step_share * share);
