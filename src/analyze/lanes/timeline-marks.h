// Additions to the op runs of a timeline: their labels, and which of them match the trace's filter.
#pragma once

#include "analyze/lanes/timeline.h"

// Returns the number of a node's label in timeline->labels, added if new; UINT16_MAX for none.
uint16_t ggs_timeline_label(struct ggs_timeline_view * timeline, const struct ggs_trace * trace,
                            const struct ggs_graph * graph, uint64_t node);

// Sets `fits` of op runs (sorted by run, node and thread) or of bins, by trace->filter.
int ggs_timeline_mark(struct ggs_timeline_view * timeline, struct ggs_trace * trace,
                      const struct ggs_overview * overview, const struct ggs_timeline_window * window,
                      struct ggs_error * error);
