// An implementation of serve/experiments.h for traces in memory, which never change and need no
// refreshing.
#pragma once

#include "serve/experiments.h"

// Opens the trace at `path`, a file of memory-files.h. One that cannot be opened is listed with the
// reason. Returns its number, or -1 if out of memory.
int ggs_experiments_add(struct ggs_experiments * experiments, const char * path, const char * directory,
                        const char * name, const char * state);
