// Weights whose bytes lie in a file, summarised as the capture library summarises what it reads in
// memory (row-summary.h): the program need not read them.
#pragma once

#include <stdbool.h>

#include "trace/spool.h"

enum { GGS_WEIGHT_MOST_ROWS = 1 << 16 }; // experts; damaged units have more

// Reads the `unit->rows` rows of a weight into `out`. `payload` is what follows the unit. Returns
// false if that is damaged, the file is gone or was changed, or memory is exhausted. Uses all cores
// for large weights.
bool ggs_weight_file_read(const struct ggs_spool_weight * unit, const void * payload, struct ggs_spool_value * out);
