// The shelf of serve/shelf.h, over traces in memory: nothing changes by itself, there is nothing to tend.
#pragma once

#include "serve/shelf.h"

// Opens the trace at `path`, a file of files.h. One that cannot be opened is listed with the reason. Returns its number, or -1 when out of memory.
int ggs_experiments_add(struct ggs_shelf * shelf, const char * path, const char * directory, const char * name,
                        const char * state);
