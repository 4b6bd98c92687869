// Up to twelve recordings side by side: the conditions in which they differ, and their figures,
// with the noise among recordings under the same conditions.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/diff/figures.h"
#include "analyze/walk/trace.h"

enum { GGS_SEVERAL_MOST = 12, GGS_SEVERAL_FIGURES = 32, GGS_SEVERAL_TEXT = 160 };

struct ggs_several_condition {
    const char * name;                                       // "memory limit"
    char         values[GGS_SEVERAL_MOST][GGS_SEVERAL_TEXT]; // "not recorded" if missing
    unsigned     n;
};

struct ggs_several_figure {
    const struct ggs_figure * figure;
    double                    values[GGS_SEVERAL_MOST]; // NaN: not seen
    unsigned                  n;
    double                    noise;   // largest difference between repeats, relative to their mean; NaN: no repeats
    bool                      differs; // by more than the noise; false for a time without repeats
};

struct ggs_several {
    unsigned                       n;
    struct ggs_several_condition * conditions; // those that differ
    unsigned                       n_conditions;
    unsigned                       group[GGS_SEVERAL_MOST]; // recordings of a group have the same conditions
    unsigned                       n_groups;
    struct ggs_several_figure      figures[GGS_SEVERAL_FIGURES];
    unsigned                       n_figures;
};

int  ggs_several_compute(struct ggs_several * several, struct ggs_trace * traces, unsigned n, struct ggs_error * error);
void ggs_several_release(struct ggs_several * several);
