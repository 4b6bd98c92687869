// Shared by the files of `ggscope paging`: the result and its output forms.
#pragma once

#include <stdbool.h>

#include "analyze/paging/paging.h"
#include "analyze/walk/trace.h"

struct paging_report {
    struct ggs_trace *                trace;
    const struct ggs_paging *         paging;
    const struct ggs_paging_options * options;
};

// Return 0, or a negative status: without a sentence if output failed, else with one in `error`.
int paging_text(const struct paging_report * report);
int paging_csv(const struct paging_report * report);
int paging_suggest(const struct paging_report * report, struct ggs_error * error);

// Plots bytes read per token step over memory, `width` columns wide.
void paging_plot(const struct paging_report * report, unsigned width);
