// Figures of a whole study.
#pragma once

#include "figure/study.h"

// Reads the study and makes its figure; `name`: the plotted figure of a trial. `caption`: adds a
// title, and a line with the program.
int ggs_study_draw(struct ggs_drawing * drawing, const char * path, const char * name, bool caption,
                   struct ggs_error * error);
