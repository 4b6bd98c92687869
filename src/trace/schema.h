// What a column means to the chunk it is in; the schemas themselves are public (ggscope.h).
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
    GGS_ROLE_PROCESS, // that the row belongs to
};

// The column with that role, -1 for none.
int ggs_schema_role(const struct ggs_schema * schema, enum ggs_role role);

// How a process's times came onto the common clock, in words: "same boot", "graph runs", "wall
// clock"; "own" for the one whose clock it is, and for what was never joined.
const char * ggs_clock_source_name(uint64_t clock);
