// What a preloaded library does about the environment that brought it here.
#pragma once

#include <stdbool.h>

// Takes the library whose name begins so out of LD_PRELOAD, and leaves what else is there: children are not to have it.
void ggs_preload_leave(const char * name);

// Does the program link an engine itself?
bool ggs_preload_sees_engine(void);
