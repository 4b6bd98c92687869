// Lets a program stream its weights: the options of `ggscope stream` and `ggscope run --stream`,
// and their environment variables.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options/options.h"
#include "record/memory/memory-size.h"

struct ggs_child_environment;
struct ggs_error;

struct ggs_streaming {
    bool                   wanted;
    struct ggs_memory_size budget; // of the program; none: found from the machine
    const char *           keep;   // "spread", "first" or "none", NULL: spread
    const char *           predict;
    bool                   verify;
    bool                   quiet;
    bool                   verbose;
    bool                   no_history, forget;
    const char *           report; // a file for the counts as JSON, NULL for none
};

extern const struct ggs_option ggs_streaming_options[]; // of the members above

// Adds the library and its settings to the environment, after what is preloaded there: the capture
// library must see an op before its sources are exchanged.
int ggs_streaming_prepare(const struct ggs_streaming * streaming, struct ggs_child_environment * environment,
                          struct ggs_error * error);
