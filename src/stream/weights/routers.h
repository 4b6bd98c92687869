// The routers of layers whose experts are computed here and whose router is computed on a device:
// their matrices, from the model file.
#pragma once

#include <stdbool.h>

struct ggs_stream;

// Looks for those that are missing, in the files that are mapped now. Returns whether some were
// found: weights of their own. With the stream's lock held.
bool ggs_routers_find(struct ggs_stream * stream);
