// For programs that use parts of the capture library without its hooks.
#include "capture/sandbox.h"

bool ggs_sandbox_;
