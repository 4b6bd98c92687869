// The public reader, for use inside ggscope: include this instead of ggscope.h, which defines the error types a second time
// for programs that have only that header.
#pragma once

#include "base/error.h"

#define GGS_ERROR_DEFINED
#include "../../include/ggscope.h"

// From now on cursors pass over chunks that are damaged instead of failing at them. Reads every chunk; returns how many are damaged:
// what is read then is a part.
uint64_t ggs_reader_skip_damaged(struct ggs_reader * reader);
