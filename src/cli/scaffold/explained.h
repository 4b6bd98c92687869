// Findings of ggscope explain in the text of other verbs.
#pragma once

#include <stdio.h>

#include "analyze/explain/explain.h"

// "up to 71 % of the token time", "saves 1.3 GiB"
char * ggs_explained_gain(char text[64], const struct ggs_reason * finding);

// Prints the first finding in two lines, for a summary. Prints nothing if explaining would take too
// long; the verb does it.
void ggs_explained_summary(struct ggs_trace * trace, const struct ggs_totals * totals, const char * directory,
                           FILE * out);
