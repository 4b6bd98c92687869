// May the first instructions of a function be replaced by a jump, and what takes their place?
//
// A jump takes 5 bytes. The instructions that these bytes belong to are displaced: they run
// elsewhere, followed by a jump to the rest of the function. That is done only if all of them are
// understood and no branch in the object leads between them.
//
// x86-64 alone; no input is written, and nothing beyond the code that is given is read.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGS_JUMP_LENGTH = 5, GGS_CODE_STUBS = 4, GGS_DISPLACED_MOST = 64 };

struct ggs_code_function {
    uint64_t     address, size;
    const char * name;
    bool         vague; // its arguments may differ from those of the source
};

struct ggs_code_range {
    uint64_t begin, end;
};

// The executable bytes of an object, and what its symbol table says about them.
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
    uint64_t     at;       // where the jump goes: the function's beginning, or behind its endbr64
    unsigned     length;   // bytes that are displaced from there
    bool         calls;    // the last of them is a call; displaced, its return address has no call before it
    bool         preserve; // callers may rely on registers and stack as this function leaves them, see below
    const char * refused;  // why it cannot be done, half a sentence; NULL if it can
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

// True if the function calls or jumps to an address.
bool ggs_code_calls(const struct ggs_code * code, const struct ggs_code_function * function, uint64_t address);

// Looks at the function at an address. Sets `refused` for all reasons but branches into the entry:
// ggs_entries_check sets it for those, looking through the code once.
//
// `preserve`: compilers see that a small function of the same source file leaves some registers
// alone, and keep values in them across a call of it (gcc's -fipa-ra), with a stack that is not
// aligned. Not so if the function calls what the compiler does not know, in another object or
// through a pointer, itself or by functions that it calls.
void ggs_entry_examine(struct ggs_code_entry * entry, const struct ggs_code * code, uint64_t function, uint64_t size);
void ggs_entries_check(struct ggs_code_entry * entries, size_t n, const struct ggs_code * code);

// Writes the displaced instructions to `to` for running at the address `at`, where a jump to the
// rest of the function follows them. Returns how many bytes that takes; 0 if something is too far
// away.
size_t ggs_entry_displace(const struct ggs_code_entry * entry, const struct ggs_code * code,
                          uint8_t to[GGS_DISPLACED_MOST], uint64_t at);
// Writes a jump, for running at `at`; false if `target` is too far away.
bool ggs_jump_write(uint8_t to[GGS_JUMP_LENGTH], uint64_t at, uint64_t target);
