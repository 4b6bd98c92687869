// Memory near an object for code that the object jumps to: the displaced beginnings of its
// functions, and ways to their hooks. Written once, and executable but not writable from then on.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code/entry.h"

struct ggs_island {
    uint8_t * base; // NULL for none
    size_t    size, used;
};

// Allocates outside of the object, within reach of jumps from its code. Returns false if there is
// no room.
bool ggs_island_open(struct ggs_island * island, struct ggs_code_range object, struct ggs_code_range code);
// Makes it executable. Returns false, and frees the island, if the system forbids that.
bool ggs_island_seal(struct ggs_island * island);
void ggs_island_drop(struct ggs_island * island);

// Adds the original function: displaced instructions and a jump to the rest. NULL if something is
// too far away.
void * ggs_island_add_function(struct ggs_island * island, const struct ggs_code_entry * entry,
                               const struct ggs_code * code);
// Adds the way from an entry to a hook that may be far away. NULL if there is no room.
void * ggs_island_add_way(struct ggs_island * island, const struct ggs_code_entry * entry, const void * hook);
// The same, preserving all caller-saved registers, except the one of the result if the hook returns
// a value, and aligning the stack. For hooks with all arguments in registers. The hook's return
// address lies in the island.
void * ggs_island_add_preserving_way(struct ggs_island * island, const struct ggs_code_entry * entry, const void * hook,
                                     bool returns);

// Overwrites code that no thread is executing. If the kernel lets a process write to its own memory
// through /proc, the pages stay executable and read-only. `may_unprotect` allows to make them
// writable, and not executable, meanwhile; on AArch64 they are no longer guarded from then on.
bool ggs_code_overwrite(void * at, const void * bytes, size_t size, bool may_unprotect);
