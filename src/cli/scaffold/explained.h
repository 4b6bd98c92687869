// Findings of ggscope explain in the text of other verbs.
#pragma once

#include <stdio.h>

#include "analyze/explain/explain.h"

// Prints the first finding in two lines, for a summary; if it is a condition of the machine, also
// the first one that is not. Names the verb instead if explaining would take too long.
void ggs_explained_summary(struct ggs_trace * trace, const struct ggs_totals * totals, const char * directory,
                           FILE * out);
