// Which pages of the mapped model files are in memory, at certain moments. Recorded on request.
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern bool ggs_residency_wanted; // set once, before recording begins

// Writes a snapshot to the journal; `moment` is one of enum ggs_moment of trace/spool.h. Files that
// were never mapped are left out.
void ggs_residency_emit(uint32_t moment);
// For the end of a recording: snapshots of the next one are numbered from the first.
void ggs_residency_reset(void);
