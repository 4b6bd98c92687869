// The text of a recording as token numbers: what `run --teacher` feeds instead of a prompt.
#pragma once

#include <stdint.h>

struct ggs_error;

// The tokens of the first text of the recording, prompt and generated, as far as they were
// computed. The caller frees them.
int ggs_run_teacher_read(const char * path, int32_t ** tokens, uint32_t * count, struct ggs_error * error);
