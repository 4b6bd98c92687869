// The graphs of a token step: {experiment_id, token, phase, runs[], graphs[]}, each graph with nodes[], leaves[] and edges[].
#pragma once

#include "analyze/ops/graph-view.h"
#include "answer/answer.h"

// begin, one write per graph that is wanted, end. `runs`: all of the token step.
void ggs_graph_write_begin(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_run * runs, uint64_t n);
void ggs_graph_write(struct ggs_json * json, const struct ggs_graph_view * view);
void ggs_graph_write_end(struct ggs_json * json);
