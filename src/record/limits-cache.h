// The limits of this machine (base/machine-limits.h), stored for all recordings made on it:
// `ggscope doctor --bandwidth` measures them, and experiment.json gets a copy.
//
// The file is $XDG_CACHE_HOME/ggscope/limits-CPU-CORES.json (else below ~/.cache), so a home that
// machines share has one per kind of machine.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/machine-limits.h"

struct ggs_error;

// Returns GGS_ABSENT if there is no home for it.
int ggs_limits_cache_path(char path[PATH_MAX], struct ggs_error * error);
// n is 0 if nothing was measured.
void ggs_limits_cache_read(struct ggs_limits * limits);
int  ggs_limits_cache_write(const struct ggs_limits * limits, struct ggs_error * error);
// For a requested measurement that a busy machine prevented: the stored limits stay, and the next
// doctor or recording on a quiet machine measures.
int  ggs_limits_cache_want(struct ggs_error * error);
bool ggs_limits_cache_is_wanted(void);
