// For programs that use parts of the capture library without its hooks.
#include "capture/hooks/sandbox.h"

bool ggs_sandbox_;
