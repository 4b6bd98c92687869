// How far Linux reads ahead of a program.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// How far the kernel reads ahead on the device of a file; false if the file is not here, or the
// device does not tell.
bool ggs_file_readahead(const char * path, uint64_t * bytes);
