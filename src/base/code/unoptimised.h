// Recognises unoptimised code.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// True if the function, whose first argument is a pointer, is x86-64 code of gcc or clang at -O0:
// such code makes a frame and stores its argument there first. `size` bytes can be read.
bool ggs_code_is_unoptimised(const uint8_t * code, size_t size);
