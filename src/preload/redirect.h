// Redirects calls to the hooks of this library in a program that was started without it.
//
// A call to another object goes through a slot: a word in the caller's global offset table. The
// slots of all functions that this library exports are replaced by its hooks, with one atomic store
// each, while the program runs. Nothing is stopped and nothing else changes: for a preloaded
// library the dynamic linker writes the same values.
//
// Not thread-safe.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_redirected {
    unsigned slots;  // that point to hooks
    unsigned lazy;   // of those: unbound at the time
    unsigned locked; // of those: in RELRO memory
    unsigned failed; // that could not be written
};

// Replaces the slots of all loaded objects.
struct ggs_redirected ggs_redirect_begin(void);
// Redirects calls of a function from the object at this base too, from the next ggs_redirect_again
// on. `name` is not copied.
void ggs_redirect_also(uintptr_t object, const char * name, void * hook);
// Handles objects loaded since, and bindings in progress that overwrote a hook. Cheap if there are
// none.
void ggs_redirect_again(void);
// Restores the original values.
void ggs_redirect_end(void);
