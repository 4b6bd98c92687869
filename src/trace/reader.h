// The public reader, for use inside ggscope: include this instead of ggscope.h, which defines the
// error types a second time for programs that have only that header.
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define GGS_ERROR_DEFINED
#include "../../include/ggscope.h"

// Opens a trace whose cursors skip damaged chunks instead of failing at them. Reads every chunk and
// counts the damaged ones: if there are any, only a part can be read.
int ggs_reader_open_damaged(struct ggs_reader ** out, const char * path, uint64_t * damaged, struct ggs_error * error);

// True for a run that was sent to another machine.
bool ggs_reader_run_is_remote(struct ggs_reader * reader, const struct ggs_run * run);
