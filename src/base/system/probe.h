// How fast is this machine? The limits that ops are compared with.
#pragma once

#include "base/limits.h"

// Reads memory far larger than any cache for about half a second with `threads` threads, then
// multiplies and adds 32-bit numbers in registers for a quarter of one. Bytes are 0 if there is no
// memory for it; flops 0 if this processor has no vectors that we know.
// Says nothing of when and how busy the machine was: record/measure.h does.
struct ggs_rates ggs_probe_rates(unsigned threads);
