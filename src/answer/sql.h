// ggscope sql: an object for each statement that gives rows. The rows are written by the verb,
// between begin and end.
#pragma once

#include "base/object.h"

struct ggs_sql_answer {
    bool                 partial; // the recording is not whole
    const char * const * columns;
    uint64_t             n_columns;
};
extern const struct ggs_object ggs_sql_object;
