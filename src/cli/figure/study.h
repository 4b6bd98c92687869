// The kinds of ggscope figure that are of a whole study.
#pragma once

#include "figure/study.h"

// Reads the study and makes its figure; `name`: the figure of a trial that the curve is
// of. `caption`: with a title, and a line that names the program.
int ggs_study_draw(struct ggs_drawing * drawing, const char * path, const char * name, bool caption,
                   struct ggs_error * error);
