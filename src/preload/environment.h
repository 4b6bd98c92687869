// The environment that brought a preloaded library into a program.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The number that begins the variable's value; `otherwise` if it has none.
uint64_t ggs_environment_number(const char * name, uint64_t otherwise);

// Keeps the library from the program's children: removes what is named `library`* from LD_PRELOAD,
// and the variables that are its settings. Other threads may be in getenv: the list of entries is
// replaced as a whole, and the one that they read stays as it is.
void ggs_environment_leave(const char * library, const char * const * settings, size_t n_settings);
