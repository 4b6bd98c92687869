// Figures of the results of a study (`ggscope sweep`).
#pragma once

#include "answer/sweep.h"
#include "figure/figure.h"

// Plots the medians of a figure (by its index in the rows' cells) over memory, with their
// intervals: a curve per combination of the other factors. `memory`: bytes by row, 0 for no limit.
// The control is omitted.
int ggs_figure_miss_curve(struct ggs_drawing * figure, const struct ggs_sweep_answer * answer, const uint64_t * memory,
                          unsigned cell, struct ggs_error * error);
