// ggscope stream: what its files share.
#pragma once

#include <stdint.h>

struct ggs_error;

// Tells what streaming would do and how fast that could be, and runs nothing. `words` name a GGUF
// file, a recording, or a program with its -m MODEL. `memory` of 0: what the machine has left.
int ggs_stream_dry_run(char * const * words, uint64_t memory, struct ggs_error * error);
