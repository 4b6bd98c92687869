// Findings of ggscope explain that only one of two recordings has. For diff.c.
#pragma once

#include "analyze/diff/diff.h"

// Needs diff->a and diff->b.
int ggs_diff_causes(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b, struct ggs_error * error);
