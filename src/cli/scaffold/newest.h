// The default recording.
#pragma once

#include <limits.h>

struct ggs_error;

// Finds the newest recording with contents: a graph run, or a spool to be sealed. Searches
// ./experiments, or the output_dir of the user's config file. Skips live recordings, and those of
// programs without ggml.
int ggs_newest_find(char path[PATH_MAX], struct ggs_error * error);
