// A knob that the user defines, for a program whose options ggscope does not know: 'threads:
// --n-threads {1,2,4}'. It names one option of the command line and the values to try.
#pragma once

#include <stdbool.h>

#include "analyze/explain/invocation.h"

enum { GGS_KNOB_VALUES = 16 };

struct ggs_own_knob {
    struct ggs_own_option option;
    char                  value[GGS_KNOB_VALUES][sizeof(((struct ggs_knob_setting *) 0)->value)];
    unsigned              n;
};

// Parses "NAME: OPTION {A,B}" or "NAME: OPTION={A,B}". Returns false if that fails; `what` says
// why.
bool ggs_own_knob_read(struct ggs_own_knob * knob, const char * text, const char ** what);
