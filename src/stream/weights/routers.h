// Reads router matrices from the model file, for layers whose experts are computed here and whose
// router is computed on a device.
#pragma once

#include <stdbool.h>

struct ggs_stream;

// Looks for missing routers in the mapped files. True if some were found: they are new weights.
// Needs the stream's lock.
bool ggs_routers_find(struct ggs_stream * stream);
