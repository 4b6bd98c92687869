// Shared by the files of ggscope stream.
#pragma once

#include <stdint.h>

struct ggs_error;

// Predicts streaming and its speed without running anything. `words` name a GGUF file, a recording,
// or a program with its -m MODEL. `memory` 0: the machine's free memory.
int ggs_stream_dry_run(char * const * words, uint64_t memory, struct ggs_error * error);

// The model that the words name; NULL for a recording, or none.
const char * ggs_stream_dry_run_model(char * const * words);
