// Engines inside a program or an addon that calls their functions directly: statically linked, with
// hidden symbols, or linked with -Bsymbolic. No call goes through the dynamic linker, so the
// functions' entries are patched to lead to the hooks (base/code/entry.h).
//
// On x86-64 and AArch64. Functions are found by the symbols of the object or of its debug file;
// without them, graphs are recorded by the backends that compute them (backend.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Searches the loaded objects. Runs before main, while there is one thread.
void ggs_inside_begin(void);
// Searches objects that were loaded since. No thread may be calling their functions yet.
void ggs_inside_search_new(void);

// The same for a running program, without changes: returns the places where its code must be
// changed while all threads are stopped (base/code/entry.h). They live until the next call.
struct ggs_code_place;
size_t ggs_inside_attach(const struct ggs_code_place ** places);
// Why an engine without symbols is not recorded, half a sentence; NULL if there is none, or it is.
const char * ggs_inside_problem(void);

// True if some object has an engine inside whose functions lead to hooks.
bool ggs_inside_found(void);
