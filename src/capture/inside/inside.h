// Engines inside a program or an addon that calls their functions directly: statically linked, with
// hidden symbols, or linked with -Bsymbolic. No call goes through the dynamic linker; the functions
// themselves are made to lead to the hooks (base/code/entry.h).
//
// x86-64 alone. Functions are found by the object's symbols, or those of its debug file.
#pragma once

#include <stdbool.h>

// Looks through the objects that are loaded. Before main, while there is one thread.
void ggs_inside_begin(void);
// Looks through the objects that were loaded since. Nobody may be calling their functions yet.
void ggs_inside_look_again(void);

// True if some object has an engine inside whose functions lead to the hooks.
bool ggs_inside_found(void);
