// Which pages of the mapped model files are in memory, at moments that matter. Recorded only if it
// is wanted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern bool ggs_residency_wanted; // set once, before recording begins

// Writes a snapshot to the journal; `moment` is one of enum ggs_moment of trace/spool.h. Files that
// were never mapped are left out.
void ggs_residency_emit(uint32_t moment);
// The recording is over: snapshots of the next one count from the first.
void ggs_residency_reset(void);
