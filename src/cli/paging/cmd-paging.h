// The parts of `ggscope paging`: what was computed, and its forms.
#pragma once

#include <stdbool.h>

#include "analyze/paging/paging.h"
#include "analyze/walk/trace.h"

struct paging_report {
    struct ggs_trace *                trace;
    const struct ggs_paging *         paging;
    const struct ggs_paging_options * options;
};

// Each returns 0, or negative if the output could not be written or, with the sentence in `error`,
// if something failed.
int paging_text(const struct paging_report * report);
int paging_csv(const struct paging_report * report);
int paging_suggest(const struct paging_report * report, struct ggs_error * error);

// Bytes read per token step against memory, as a drawing of so many columns.
void paging_plot(const struct paging_report * report, unsigned width);
