// What the ops of a run computed: units of the lane of values become rows.
#pragma once

#include "trace/seal/runs/runs.h"

// `graph` is NULL if it is unknown; `batch` has what the run's own index data says of tokens.
void ggs_run_values_write(struct ggs_runs * runs, const struct ggs_run * row, const struct ggs_seal_graph * graph,
                          const struct ggs_seal_batch * batch, const struct ggs_spool_index * unit,
                          const void * payload);
