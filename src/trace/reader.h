// The public reader, for use inside ggscope: include this instead of ggscope.h, which defines the
// error types a second time for programs that have only that header.
#pragma once

#include "base/error.h"

#define GGS_ERROR_DEFINED
#include "../../include/ggscope.h"

// Opens a trace whose cursors pass over chunks that are damaged instead of failing at them. Reads
// every chunk and counts those: if there are any, what is read is a part.
int ggs_reader_open_damaged(struct ggs_reader ** out, const char * path, uint64_t * damaged, struct ggs_error * error);
