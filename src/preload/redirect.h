// Redirects calls to the hooks of this library in a program that was started without it.
//
// A call to a function of another object goes through a slot: a word in the calling object's global
// offset table. The slots of all functions that this library exports are exchanged for its own, one
// atomic store each, while the program runs. Nothing is stopped, and nothing else is changed: a
// preloaded library would have had the dynamic linker write the same.
//
// One thread at a time may call these.
#pragma once

#include <stdbool.h>

struct ggs_redirected {
    unsigned slots;  // that lead here
    unsigned lazy;   // of those: that were not bound yet
    unsigned locked; // of those: that lie in memory which is read-only after relocation
    unsigned failed; // that could not be written
};

// Exchanges the slots of all objects that are loaded.
struct ggs_redirected ggs_redirect_begin(void);
// Looks whether objects were loaded since, or whether a binding that was under way has written over
// a hook. Cheap if not.
void ggs_redirect_again(void);
// Puts back what was there before.
void ggs_redirect_end(void);
