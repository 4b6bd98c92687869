// Joins several experiments into one, for `ggscope join`.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/join/join.h"

struct ggs_joined {
    struct ggs_join          join;
    struct ggs_join_source * sources; // all of them, with followed programs
    uint32_t                 n;
    uint64_t                 machines;
    // Private:
    struct ggs_joining_private * own;
};

struct ggs_joining {
    char * const * inputs; // experiments or traces; NAME=PATH names the machine
    uint32_t       n;
    const char *   output; // directory
    bool           force;  // replace an existing experiment
};

// Writes the experiment. The caller releases `joined` in any case.
int  ggs_joined_make(struct ggs_joined * joined, const struct ggs_joining * joining, struct ggs_error * error);
void ggs_joined_release(struct ggs_joined * joined);
