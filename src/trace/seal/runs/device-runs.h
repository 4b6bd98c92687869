// Graph runs on devices: DEVICE_RUN and KERNELS of the journal become op runs and kernels. Part of
// sealing.
#pragma once

#include "trace/seal/runs/runs.h"

// The ops of a device's run until it is written. Owned by its ggs_open_run.
struct ggs_device_ops {
    struct ggs_journal_device_run  head;
    struct ggs_journal_device_op * ops;
};

// Writes the op runs of a timed run, marks its nodes in runs->nodes, and returns the latest end.
void ggs_device_ops_write(struct ggs_runs * runs, struct ggs_open_run * open, const struct ggs_seal_graph * graph);

// Records of the journal. `body` has `length` bytes.
void ggs_runs_device(struct ggs_runs * runs, const void * body, size_t length);
void ggs_runs_kernels(struct ggs_runs * runs, const void * body, size_t length);
