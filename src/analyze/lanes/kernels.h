// Kernels of devices added up by name, as groups are. Empty if no device was watched that closely.
#pragma once

#include "analyze/ops/groups.h"

// ops and op_runs are how often it ran, wall_ns and busy_ns how long; there are no bytes.
int ggs_groups_of_kernels(struct ggs_groups * groups, struct ggs_trace * trace, const struct ggs_totals_range * range,
                          struct ggs_error * error);
