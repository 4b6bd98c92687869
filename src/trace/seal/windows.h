// When graph runs were recorded: windows and marks of a spool's control file become rows. Part of
// sealing.
#pragma once

#include "base/map.h"
#include "trace/seal/tick-clock.h"
#include "trace/spool-reader.h"
#include "trace/writer.h"

// True if recording was ever paused.
bool ggs_windows_have_gaps(const struct ggs_spool * spool);
// True if the decode is excluded, because its window had ended.
bool ggs_windows_leave_out(const struct ggs_spool * spool, uint64_t decode);
// True if a window ends with this decode.
bool ggs_windows_end_with(const struct ggs_spool * spool, uint64_t decode);
// Writes nothing for a recording that was never paused and has no marks. `ends` has the ends of
// decodes that windows end with.
void ggs_windows_write(const struct ggs_spool * spool, const struct ggs_clock * clock, const struct ggs_map * ends,
                       struct ggs_writer * writer);
