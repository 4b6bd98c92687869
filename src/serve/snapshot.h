// Opening snapshots, for experiments.c.
#pragma once

#include "serve/experiments.h"

// Opens the trace at `path` as the experiment in `directory`. Files of different experiments in one
// directory are refused. `damaged`: read the intact part of a damaged trace, which is otherwise
// refused.
int ggs_snapshot_open(struct ggs_snapshot ** out, const char * directory, const char * path, bool damaged,
                      struct ggs_error * error);

// Reads a member of a directory's experiment.json, "" if it is missing.
void ggs_snapshot_read_fact(const char * directory, const char * key, char * text, size_t size);
