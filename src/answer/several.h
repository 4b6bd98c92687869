// ggscope diff A B C...: several recordings side by side.
#pragma once

#include "analyze/diff/several.h"
#include "base/object.h"

struct ggs_several_answer {
    const struct ggs_several * several;
    char * const *             paths;
    const struct ggs_trace *   traces;
    unsigned                   n;
};
extern const struct ggs_object ggs_several_object;
