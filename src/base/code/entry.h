// Decides whether the first instructions of a function can be replaced by a jump, and displaces
// them.
//
// A jump has 5 bytes on x86-64 and 4 on AArch64. The instructions that these bytes belong to are
// displaced: they run elsewhere, followed by a jump to the rest of the function. This requires that
// all of them are understood and that no branch in the object targets an address between them.
//
// No input is written, and nothing beyond the given code is read.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code/processor.h"

enum { GGS_CODE_STUBS = 4, GGS_DISPLACED_MOST = 64 };

struct ggs_code_function {
    uint64_t     address, size;
    const char * name;
    bool         vague; // its arguments may differ from those in the source
};

struct ggs_code_range {
    uint64_t begin, end;
};

// The executable bytes of an object and the functions in its symbol table.
struct ggs_code {
    const struct ggs_processor *     processor;
    const uint8_t *                  bytes;
    uint64_t                         address, size;
    const struct ggs_code_function * functions; // sorted by address
    size_t                           n_functions;
    struct ggs_code_range            stubs[GGS_CODE_STUBS]; // of calls to other objects (.plt)
    unsigned                         n_stubs;
};

struct ggs_code_entry {
    uint64_t     function, size;
    uint64_t     at;       // address of the jump: the beginning of the function, or behind what must stay in place
    uint32_t     undo;     // see struct ggs_landing: the way to a hook begins with it
    unsigned     length;   // number of displaced bytes
    bool         calls;    // the last displaced instruction is a call: its return address has no call before it
    bool         preserve; // callers may rely on unclobbered registers, see below
    const char * refused;  // why it cannot be patched, half a sentence; NULL if it can
};

// A change of code in a running process. The capture library writes the list of changes into its
// own memory; ggscope reads the list and applies it. The `length` bytes at `at` hold the displaced
// instructions: no thread may be stopped between two of them.
struct ggs_code_place {
    uint64_t at;
    uint32_t length;
    uint8_t  before[GGS_JUMP_MOST], after[GGS_JUMP_MOST];
    uint8_t  reserved[2];
};
enum { GGS_CODE_PLACES_MOST = 512 };

// From the first function to the end of the last one. Executable segments have other bytes, too.
struct ggs_code_range ggs_code_extent(const struct ggs_code * code);
// The function that an address lies in; NULL if there is none.
const struct ggs_code_function * ggs_code_function_at(const struct ggs_code * code, uint64_t address);
// True if the function calls or jumps to `address`.
bool ggs_code_calls(const struct ggs_code * code, const struct ggs_code_function * function, uint64_t address);

// Examines the function at an address. Sets `refused` for all reasons except branches into the
// entry, which ggs_entries_check finds in one pass over the code.
//
// `preserve`: gcc's -fipa-ra sees that a small function of the same source file leaves some
// registers alone, and keeps values in them across calls (on x86-64 with an unaligned stack). This
// is ruled out if the function, or one that it calls, calls another object or through a pointer.
void ggs_entry_examine(struct ggs_code_entry * entry, const struct ggs_code * code, uint64_t function, uint64_t size);
void ggs_entries_check(struct ggs_code_entry * entries, size_t n, const struct ggs_code * code);

// Writes the displaced instructions to `to` for running at address `at`, followed by a jump to the
// rest of the function. Returns the number of bytes; 0 if an address is out of reach.
size_t ggs_entry_displace(const struct ggs_code_entry * entry, const struct ggs_code * code,
                          uint8_t to[GGS_DISPLACED_MOST], uint64_t at);
