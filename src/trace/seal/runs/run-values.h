// Values of a run's ops: units of the lane of values become rows.
#pragma once

#include "trace/seal/runs/runs.h"

// `graph` is NULL if unknown; `batch` has the tokens of the run's own index data.
void ggs_run_values_write(struct ggs_runs * runs, const struct ggs_run * row, const struct ggs_seal_graph * graph,
                          const struct ggs_seal_batch * batch, const struct ggs_spool_index * unit,
                          const void * payload);
