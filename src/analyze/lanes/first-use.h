// The first graph run on a device, if it compiled shaders or kernels: its ops say nothing about
// later ones, and are no part of shares by op.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_first_use {
    uint64_t run; // its number; 0: none, or it took no longer than others
    uint64_t device, ns, usual_ns;
};

// True if a first graph run of so many tokens took longer than its tokens, one by one, at the usual
// time of later runs, and 20 times as long as one. False if that time is not known (0).
bool ggs_first_use_is_long(uint64_t ns, uint64_t usual_ns, uint64_t tokens);
int  ggs_first_use_find(struct ggs_first_use * first, struct ggs_trace * trace, struct ggs_error * error);
