// Runs a program for what it says.
#pragma once

#include <stddef.h>

// The output of a program (its stdout, or its stderr if `of` is 2), cut to `size` bytes with the
// NUL. Returns its exit status, or -1 if it did not run or died.
int ggs_listen(char ** argv, char ** environment, int of, char * said, size_t size);
