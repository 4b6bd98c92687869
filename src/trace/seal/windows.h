// When graph runs were recorded: the windows and marks of a spool's control file become rows. Part of sealing.
#pragma once

#include "trace/seal/clock.h"
#include "trace/spool-reader.h"
#include "trace/writer.h"

// Was recording paused at any time?
bool ggs_windows_have_gaps(const struct ggs_spool * spool);
// Writes none for a recording that was never paused and has no marks.
void ggs_windows_write(const struct ggs_spool * spool, const struct ggs_clock * clock, struct ggs_writer * writer);
