// Shared by the files of `ggscope stats`.
#pragma once

#include "answer/ops/stats.h"

struct ggs_roofline;
extern const char stats_above_limit[]; // the line below a table with rates above the limit
// Prints the performance of ops. Returns 0, or -1 if output failed.
int stats_roofline_text(const struct ggs_roofline * roofline, const struct ggs_rates * rates);
// Prints a table per grouping in `by` (bits 1 << enum ggs_by; 0: by op). Returns the same.
int stats_text(const struct ggs_stats * stats, unsigned by);

// Prints the machine's part; nothing without observations.
void stats_machine_text(const struct ggs_stats * stats);
