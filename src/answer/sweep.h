// ggscope sweep: results of a study.
#pragma once

#include "analyze/diff/figures.h"
#include "analyze/diff/sample.h"
#include "base/object.h"

struct ggs_sweep_cell {
    const struct ggs_figure * figure;
    struct ggs_median         value;   // NaN: not seen
    struct ggs_ratio          control; // of the control: relative to the first row
};

struct ggs_sweep_row {
    const char *  variant; // "v01"; "control": the first variant once more
    const char ** values;  // one per factor
    unsigned      n_values;
    // Trials: ended, succeeded, failed, killed by the limit, on a busy machine.
    unsigned                runs, n, failed, limited, busy;
    struct ggs_sweep_cell * cells; // one per figure
    unsigned                n_cells;
};

struct ggs_sweep_answer {
    const char *           study;
    const char **          factors;
    unsigned               n_factors;
    unsigned               planned, runs; // trials
    struct ggs_sweep_row * rows;          // the last one is the control
    unsigned               n_rows;
};
extern const struct ggs_object ggs_sweep_object;
