// The role of a column in its chunk; the schemas themselves are public (ggscope.h).
#pragma once

#include "trace/format.h"
#include "trace/reader.h"

enum ggs_role {
    GGS_ROLE_NONE,
    GGS_ROLE_BEGIN,    // time
    GGS_ROLE_END,      // time, or -1 for never
    GGS_ROLE_DURATION, // follows begin
    GGS_ROLE_WAIT,     // follows duration
    GGS_ROLE_THREAD,
    GGS_ROLE_PROCESS, // of the row
};

// Returns the column with that role, -1 for none.
int ggs_schema_role(const struct ggs_schema * schema, enum ggs_role role);

// How the times of a process were related to the common clock, in words: "same boot", "graph runs",
// "wall clock"; "own" for the process with the common clock, and for recordings that were not
// joined.
const char * ggs_clock_source_name(uint64_t clock);
