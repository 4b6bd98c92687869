// ggscope sweep: what the trials of a study came to.
#pragma once

#include "analyze/diff/figures.h"
#include "analyze/diff/sample.h"
#include "base/object.h"

struct ggs_sweep_cell {
    const struct ggs_figure * figure;
    struct ggs_median         value;   // NaN: not seen
    struct ggs_ratio          control; // of the control's row: it by the first row
};

struct ggs_sweep_row {
    const char *            variant; // "v01"; "control": the first once more
    const char **           values;  // one for each factor
    unsigned                n_values;
    unsigned                runs, n, failed, limited, busy; // trials that ended; done; of the program; by the limit
    struct ggs_sweep_cell * cells;                          // one for each figure
    unsigned                n_cells;
};

struct ggs_sweep_answer {
    const char *           study;
    const char **          factors;
    unsigned               n_factors;
    unsigned               planned, runs; // trials
    struct ggs_sweep_row * rows;          // the last is the control's
    unsigned               n_rows;
};
extern const struct ggs_object ggs_sweep_object;
