// Losses whose run is unknown: one journal record per reason, incremented in place, so a killed
// program leaves its losses too. Losses of a known run are written at its end
// (ggs_journal_append_loss). Thread-safe.
#pragma once

#include <stdint.h>

#include "trace/spool.h"

// `reason` is one of enum ggs_loss_reason.
void ggs_losses_count(unsigned reason, uint64_t count);

// For a forked child, whose journal is its parent's.
void ggs_losses_forget(void);
// For the end of a recording; another one may begin.
void ggs_losses_reset(void);
