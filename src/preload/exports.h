// The hooks of this library: the functions that it exports.
#pragma once

#include <stddef.h>

// The hook for a function; NULL if it has none. ggs_exports_read must have been called.
void * ggs_exports_find(const char * name);
// The i-th hook and its name; NULL beyond the last.
void * ggs_exports_at(size_t i, const char ** name);
// Reads the library's own symbols, once. Calls dladdr.
void ggs_exports_read(void);
