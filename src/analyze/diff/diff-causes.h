// Findings of ggscope explain that only one of two recordings has. For diff and bench.
#pragma once

#include "analyze/diff/diff.h"

struct ggs_explanation;

// `conditions`: also compares conditions of the machine, which change without any cause in A or B.
void ggs_causes_compare(struct ggs_causes * causes, const struct ggs_explanation * a, const struct ggs_explanation * b,
                        bool conditions);
// Needs diff->a and diff->b.
int ggs_diff_causes(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b, struct ggs_error * error);
