// Text for man pages.
#pragma once

#include <stdio.h>

// Writes text as lines of roff, one sentence per line, with macros escaped.
void ggs_roff_put(FILE * file, const char * text);
