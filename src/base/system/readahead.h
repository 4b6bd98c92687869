// The kernel's readahead.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Reads the readahead of the device of a file; false if the file is on another machine or the
// device does not state it.
bool ggs_file_readahead(const char * path, uint64_t * bytes);
