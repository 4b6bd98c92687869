// Reads the tokens of a recording, which `run --teacher` feeds in place of a prompt.
#pragma once

#include <stdint.h>

struct ggs_error;

// Reads the computed tokens of the first text of the recording, prompt and generated. The caller
// frees them.
int ggs_run_teacher_read(const char * path, int32_t ** tokens, uint32_t * count, struct ggs_error * error);
