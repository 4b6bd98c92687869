// The recording that is meant if none is named.
#pragma once

#include <limits.h>

struct ggs_error;

// The newest recording that holds something: a graph run, or a spool that is to be sealed. Looks
// below ./experiments, or the output_dir of the user's config file. One that is still going on is
// passed over, and so is what a program without ggml left behind.
int ggs_newest_find(char path[PATH_MAX], struct ggs_error * error);
