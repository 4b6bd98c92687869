// The table of ggscope sweep.
#pragma once

#include <stdbool.h>

#include "answer/sweep.h"
#include "trials/sweep.h"

struct ggs_error;

enum ggs_sweep_format {
    GGS_SWEEP_TEXT,
    GGS_SWEEP_CSV,
    GGS_SWEEP_PARQUET,
    GGS_SWEEP_MARKDOWN,
    GGS_SWEEP_LATEX,
    GGS_SWEEP_FORMATS,
};

enum { GGS_SWEEP_SHOWN = 8 };

// Figures shown in text, Markdown and LaTeX.
struct ggs_sweep_shown {
    unsigned list[GGS_SWEEP_SHOWN];
    unsigned n;
};

// Makes the results of the trials so far; release frees them. Strings belong to the sweep.
int  ggs_sweep_answer_make(struct ggs_sweep_answer * answer, const struct ggs_sweep * sweep, struct ggs_error * error);
void ggs_sweep_answer_release(struct ggs_sweep_answer * answer);

// Writes to a file, or to stdout ("-").
int ggs_sweep_table_write(const struct ggs_sweep_answer * answer, enum ggs_sweep_format format,
                          const struct ggs_sweep_shown * shown, const char * path, struct ggs_error * error);
