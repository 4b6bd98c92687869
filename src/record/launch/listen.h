// Runs a program for its output.
#pragma once

#include <stddef.h>

// Captures the output of a program (stdout, or stderr if `of` is 2), truncated to `size` bytes with
// the NUL. Returns its exit status, or -1 if it did not run or died.
int ggs_listen(char ** argv, char ** environment, int of, char * said, size_t size);
