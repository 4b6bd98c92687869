// F16 and BF16 as floats. Every number of these types is a float, so the results are those of the
// engine's functions, which convert the short rows of a cache element by element.
#pragma once

#include <stdint.h>

void ggs_values_from_f16(const void * from, float * to, int64_t n);
void ggs_values_from_bf16(const void * from, float * to, int64_t n);
