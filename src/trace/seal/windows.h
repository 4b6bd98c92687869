// When graph runs were recorded: the windows and marks of a spool's control file become rows. Part
// of sealing.
#pragma once

#include "base/map.h"
#include "trace/seal/clock.h"
#include "trace/spool-reader.h"
#include "trace/writer.h"

// Was recording paused at any time?
bool ggs_windows_have_gaps(const struct ggs_spool * spool);
// Is the decode no part of the recording, because its window was over by then?
bool ggs_windows_leave_out(const struct ggs_spool * spool, uint64_t decode);
// Does a window end with this decode?
bool ggs_windows_end_with(const struct ggs_spool * spool, uint64_t decode);
// Writes none for a recording that was never paused and has no marks. `ends` has the ends of
// decodes that windows end with.
void ggs_windows_write(const struct ggs_spool * spool, const struct ggs_clock * clock, const struct ggs_map * ends,
                       struct ggs_writer * writer);
