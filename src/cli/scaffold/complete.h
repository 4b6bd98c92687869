// Shell completion: ggscope __complete WORD... prints the completions of the last word.
#pragma once

#include <stddef.h>

#include "cli/commands.h"

// Prints one completion per line: the word, a tab and a description. A line ":files" asks the shell
// for files if nothing else fits.
int ggs_complete(const struct ggs_command * commands, size_t n_commands, int argc, char ** argv);
