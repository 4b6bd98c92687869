// Outputs that a program reads after a decode.
#pragma once

#include <stdbool.h>

// A decode begins on this thread: what is read from here on is read of it. `recorded` is false
// outside of windows.
void ggs_outputs_decode(bool recorded);
