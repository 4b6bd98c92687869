// The public reader, for use inside ggscope: include this instead of ggscope.h, which defines the error types a second time
// for programs that have only that header.
#pragma once

#include "base/error.h"

#define GGS_ERROR_DEFINED
#include "../../include/ggscope.h"
