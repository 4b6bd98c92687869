// Losses whose run is not known: one journal record per reason, incremented in place, so that a
// killed program leaves its losses too. Those of a known run are written at its end
// (ggs_journal_append_loss). Thread-safe.
#pragma once

#include <stdint.h>

#include "trace/spool.h"

// `reason` is one of enum ggs_loss_reason.
void ggs_losses_count(unsigned reason, uint64_t count);

// In the child of a fork: the journal is its parent's.
void ggs_losses_forget(void);
// The journal is over; another recording may begin.
void ggs_losses_reset(void);
