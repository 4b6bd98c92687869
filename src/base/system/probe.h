// Measures the limits of this machine that ops are compared with.
#pragma once

#include "base/machine-limits.h"

// Reads memory far larger than any cache with `threads` threads for about half a second, then
// multiplies and adds 32-bit numbers in registers for a quarter of a second. Bytes are 0 if there
// is not enough memory, flops 0 if the processor has no known vector instructions. record/measure.h
// adds the time and the load of the machine.
struct ggs_rates ggs_probe_rates(unsigned threads);
