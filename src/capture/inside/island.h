// Memory near an object, for code that the object jumps to: the displaced beginnings of its
// functions, and the ways to their hooks. Written once, then executable and not writable.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code/entry.h"

struct ggs_island {
    uint8_t * base; // NULL: there is none
    size_t    size, used;
};

// Within reach of jumps from [low, high). False if there is no room.
bool ggs_island_open(struct ggs_island * island, uintptr_t low, uintptr_t high);
// From now on it can be executed. False if the system forbids that; the island is then gone.
bool ggs_island_seal(struct ggs_island * island);
void ggs_island_drop(struct ggs_island * island);

// The function as it was: displaced instructions, then its rest. NULL if something is too far away.
void * ggs_island_add_function(struct ggs_island * island, const struct ggs_code_entry * entry,
                               const struct ggs_code * code);
// A way to a hook that may be far away. NULL without room.
void * ggs_island_add_way(struct ggs_island * island, const void * hook);
// The same, which keeps all registers that a function may change by convention, but rax if the hook
// returns a value, and aligns the stack. For hooks whose arguments are all in registers. The hook's
// return address lies in the island.
void * ggs_island_add_preserving_way(struct ggs_island * island, const void * hook, bool returns);

// Writes over code that no thread executes at the moment. The pages stay as they are, executable
// and not writable, if the kernel lets a process write to its own memory through /proc;
// `may_unprotect` allows to make them writable, and not executable, meanwhile.
bool ggs_code_overwrite(void * at, const void * bytes, size_t size, bool may_unprotect);
