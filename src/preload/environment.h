// The environment that brought a preloaded library into a program.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Returns the number at the start of the variable's value; `otherwise` if there is none.
uint64_t ggs_environment_number(const char * name, uint64_t otherwise);

// Keeps the library out of the program's children: removes `library`* from LD_PRELOAD, and the
// variables with its settings. Other threads may be in getenv, so the array of entries is replaced
// as a whole and the old one stays intact.
void ggs_environment_leave(const char * library, const char * const * settings, size_t n_settings);
