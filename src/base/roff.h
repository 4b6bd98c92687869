// Text for man pages.
#pragma once

#include <stdio.h>

// Writes a text as lines of roff: a sentence each, nothing in it is a macro.
void ggs_roff_put(FILE * file, const char * text);
