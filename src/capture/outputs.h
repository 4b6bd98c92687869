// Outputs that a program reads after a decode.
#pragma once

#include <stdbool.h>

// Begins a decode on this thread, which later reads belong to. `recorded` is false outside of
// windows.
void ggs_outputs_decode(bool recorded);
