// ggscope experts A B...: the use of experts by domain.
#pragma once

#include "analyze/experts/domains.h"
#include "base/object.h"

struct ggs_domains_answer {
    const struct ggs_domains * domains;
    char * const *             paths;
    const struct ggs_trace *   traces;
};
extern const struct ggs_object ggs_domains_object;
