// Warnings about recordings that are hard to compare: different models, prompts, threads, engines,
// backends. For diff.c.
#pragma once

#include "analyze/diff/diff.h"

// Needs diff->a and diff->b. Fills in the warnings, and the first step whose tokens differ.
int ggs_diff_warn(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b, struct ggs_error * error);
