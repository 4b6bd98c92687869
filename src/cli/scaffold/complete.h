// What the completions of shells ask: ggscope __complete WORD... prints what the last of these
// words may become.
#pragma once

#include <stddef.h>

#include "cli/commands.h"

// A line for each: the word, a tab and what it is. A line ":files" asks the shell for files:
// nothing of ours fits.
int ggs_complete(const struct ggs_command * commands, size_t n_commands, int argc, char ** argv);
