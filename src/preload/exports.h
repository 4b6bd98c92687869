// The hooks of this library: its exported functions.
#pragma once

#include <stddef.h>

// Returns the hook of a function; NULL if it has none. Call ggs_exports_read first.
void * ggs_exports_find(const char * name);
// Returns the i-th hook and its name; NULL beyond the last.
void * ggs_exports_at(size_t i, const char ** name);
// Reads the library's own symbols. Call it once. Calls dladdr.
void ggs_exports_read(void);
