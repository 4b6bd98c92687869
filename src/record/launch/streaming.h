// Lets a program stream its weights: the options of `ggscope stream` and `ggscope run --stream`,
// and what they become in its environment.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options/options.h"
#include "record/memory/memory-size.h"

struct ggs_environment;
struct ggs_error;

struct ggs_streaming {
    bool                   wanted;
    struct ggs_memory_size budget; // that the program may take; none: what the machine says
    const char *           keep;   // "spread", "first" or "none", NULL: spread
    const char *           predict;
    bool                   verify;
    bool                   quiet;
    bool                   verbose;
    bool                   no_history, forget;
    const char *           report; // a file that gets the counts as JSON, NULL: none
};

extern const struct ggs_option ggs_streaming_options[]; // of the members above

// Puts the library and its settings into the environment, behind what is preloaded there already:
// the capture library is to see an op before its sources are exchanged.
int ggs_streaming_prepare(const struct ggs_streaming * streaming, struct ggs_environment * environment,
                          struct ggs_error * error);
