// Decides whether the first instructions of a function can be replaced by a jump, and displaces
// them.
//
// A jump has 5 bytes. The instructions that these bytes belong to are displaced: they run
// elsewhere, followed by a jump to the rest of the function. This requires that all of them are
// understood and that no branch in the object targets an address between them.
//
// Only for x86-64. No input is written, and nothing beyond the given code is read.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGS_JUMP_LENGTH = 5, GGS_CODE_STUBS = 4, GGS_DISPLACED_MOST = 64 };

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
    const uint8_t *                  bytes;
    uint64_t                         address, size;
    const struct ggs_code_function * functions; // sorted by address
    size_t                           n_functions;
    struct ggs_code_range            stubs[GGS_CODE_STUBS]; // of calls to other objects (.plt)
    unsigned                         n_stubs;
};

struct ggs_code_entry {
    uint64_t     function, size;
    uint64_t     at;       // address of the jump: the beginning of the function, or behind its endbr64
    unsigned     length;   // number of displaced bytes
    bool         calls;    // the last displaced instruction is a call: its return address has no call before it
    bool         preserve; // callers may rely on unclobbered registers, see below
    const char * refused;  // why it cannot be patched, half a sentence; NULL if it can
};

// Where code of a process that runs is changed: written by the capture library into its own memory,
// read and carried out by ggscope. `length` bytes from `at` on are instructions that the new ones
// displace: no thread may be between them.
struct ggs_code_place {
    uint64_t at;
    uint32_t length;
    uint8_t  before[GGS_JUMP_LENGTH], after[GGS_JUMP_LENGTH];
    uint8_t  reserved[2];
};
enum { GGS_CODE_PLACES_MOST = 512 };

// True if the function calls or jumps to `address`.
bool ggs_code_calls(const struct ggs_code * code, const struct ggs_code_function * function, uint64_t address);

// Examines the function at an address. Sets `refused` for all reasons except branches into the
// entry, which ggs_entries_check finds in one pass over the code.
//
// `preserve`: gcc's -fipa-ra sees that a small function of the same source file leaves some
// registers alone, and keeps values in them across calls, with an unaligned stack. This is ruled
// out if the function, or one that it calls, calls another object or through a pointer.
void ggs_entry_examine(struct ggs_code_entry * entry, const struct ggs_code * code, uint64_t function, uint64_t size);
void ggs_entries_check(struct ggs_code_entry * entries, size_t n, const struct ggs_code * code);

// Writes the displaced instructions to `to` for running at address `at`, followed by a jump to the
// rest of the function. Returns the number of bytes; 0 if an address is out of reach.
size_t ggs_entry_displace(const struct ggs_code_entry * entry, const struct ggs_code * code,
                          uint8_t to[GGS_DISPLACED_MOST], uint64_t at);
// Writes a jump for running at `at`; false if `target` is out of reach.
bool ggs_jump_write(uint8_t to[GGS_JUMP_LENGTH], uint64_t at, uint64_t target);
