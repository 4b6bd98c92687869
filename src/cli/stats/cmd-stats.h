// What the files of `ggscope stats` share.
#pragma once

#include "answer/ops/stats.h"

struct ggs_roofline;
extern const char stats_above_limit[]; // the line below a table that has rates above the limit
// What ops reach. Returns 0, or -1 if it could not be written.
int stats_roofline_text(const struct ggs_roofline * roofline, const struct ggs_rates * rates);
// A table for each of `by` (bits 1 << enum ggs_by; 0: by op). Likewise.
int stats_text(const struct ggs_stats * stats, unsigned by);

// The machine's part: nothing if nothing was observed.
void stats_machine_text(const struct ggs_stats * stats);
