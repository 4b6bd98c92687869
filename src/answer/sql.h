// ggscope sql: an object per statement that returns rows. The verb writes the rows between begin
// and end.
#pragma once

#include "base/object.h"

struct ggs_sql_answer {
    bool                 partial; // the recording is incomplete
    const char * const * columns;
    uint64_t             n_columns;
};
extern const struct ggs_object ggs_sql_object;
