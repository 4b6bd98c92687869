// The text forms of ggscope graph.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "analyze/ops/graph-view.h"

void ggs_graph_text(const struct ggs_graph_view * view, FILE * file, bool all);
void ggs_graph_dot(const struct ggs_graph_view * view, FILE * file); // clusters, nodes, edges
