// Engines inside a program or an addon that calls their functions directly: statically linked, with
// hidden symbols, or linked with -Bsymbolic. No call goes through the dynamic linker; the functions
// themselves are made to lead to the hooks (base/code/entry.h).
//
// x86-64 alone. Functions are found by the object's symbols, or those of its debug file.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Looks through the objects that are loaded. Before main, while there is one thread.
void ggs_inside_begin(void);
// Looks through the objects that were loaded since. Nobody may be calling their functions yet.
void ggs_inside_look_again(void);

// The same for a program that runs, and changes nothing: returns the places where its code must be
// changed while all threads stand (base/code/entry.h). They live until the next call.
struct ggs_code_place;
size_t ggs_inside_attach(const struct ggs_code_place ** places);

// True if some object has an engine inside whose functions lead to the hooks.
bool ggs_inside_found(void);
