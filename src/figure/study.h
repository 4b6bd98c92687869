// Figures of a study (`ggscope sweep`), of what its trials came to.
#pragma once

#include "answer/sweep.h"
#include "figure/figure.h"

// Medians of a figure (by its place in the rows' cells) over memory, with their intervals; a curve
// for each combination of the other factors. `memory`: bytes by row, 0 for no limit. The control is
// left out.
int ggs_figure_miss_curve(struct ggs_drawing * figure, const struct ggs_sweep_answer * answer, const uint64_t * memory,
                          unsigned cell, struct ggs_error * error);
