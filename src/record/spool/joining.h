// Several experiments as one: what `ggscope join` does.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/join/join.h"

struct ggs_joined {
    struct ggs_join          join;
    struct ggs_join_source * sources; // what was joined: also the programs that a followed one started
    uint32_t                 n;
    uint64_t                 machines;
    // below: private
    struct ggs_joining_private * own;
};

struct ggs_joining {
    char * const * inputs; // experiments, or traces; NAME=PATH says what the machine is called
    uint32_t       n;
    const char *   output; // directory
    bool           force;  // an experiment that is there is replaced
};

// Writes the experiment. Release it in any case.
int  ggs_joined_make(struct ggs_joined * joined, const struct ggs_joining * joining, struct ggs_error * error);
void ggs_joined_release(struct ggs_joined * joined);
