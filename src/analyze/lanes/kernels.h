// Totals of device kernels by name. Empty if no kernels were recorded.
#pragma once

#include "analyze/ops/groups.h"

// ops and op_runs count launches, wall_ns and busy_ns their time; there are no bytes.
int ggs_groups_of_kernels(struct ggs_groups * groups, struct ggs_trace * trace, const struct ggs_totals_range * range,
                          struct ggs_error * error);
