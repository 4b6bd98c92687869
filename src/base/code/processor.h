// What differs between processors when code is examined and moved: one table of functions each.
//
// All of them work on bytes, on every machine. Nothing beyond the given bytes is read.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ggs_instruction_kind {
    GGS_INSTRUCTION_ORDINARY, // continues with the next instruction
    GGS_INSTRUCTION_JUMP,     // to `target`
    GGS_INSTRUCTION_BRANCH,   // to `target` or the next instruction
    GGS_INSTRUCTION_CALL,     // of `target`
    GGS_INSTRUCTION_CALL_INDIRECT,
    GGS_INSTRUCTION_JUMP_INDIRECT,
    GGS_INSTRUCTION_RETURN,
    GGS_INSTRUCTION_SPECIAL, // system calls, traps, unusual branches: never displaced
};

struct ggs_instruction {
    uint8_t                   length;
    enum ggs_instruction_kind kind;
    uint8_t                   relative_at; // x86-64: offset of the 4 bytes of a rip-relative address; 0: none
    int64_t                   target;      // of a direct branch, relative to the start of the instruction
    uint8_t                   condition;   // x86-64, of a BRANCH: the low 4 bits of its opcode
};

// The instruction that indirect calls must land on, at the start of a function. It stays in place.
struct ggs_landing {
    unsigned length; // 0: nothing
    uint32_t undo;   // AArch64: the instruction that reverses what it does to the return address; 0: none
};

enum { GGS_JUMP_MOST = 5, GGS_MOVED_MOST = 32 };

struct ggs_processor {
    unsigned jump_length; // of a direct jump; at most GGS_JUMP_MOST
    uint64_t jump_reach;  // distance that every jump reaches
    unsigned alignment;   // of instructions

    // Decodes length, kind and branch target. Operands and meanings are not decoded. False if the
    // instruction is unknown or `size` ends within it.
    bool (*decode)(struct ggs_instruction * instruction, const uint8_t * bytes, size_t size);
    struct ggs_landing (*landing)(const uint8_t * bytes, size_t size);
    // True if the indirect call `before` bytes into the function may be the lookup of a
    // thread-local variable, which preserves all registers.
    bool (*is_thread_lookup)(const struct ggs_instruction * instruction, const uint8_t * bytes, size_t before);

    // Writes a jump for running at `at`; false if `target` is out of reach.
    bool (*jump)(uint8_t to[GGS_JUMP_MOST], uint64_t at, uint64_t target);
    // Writes the instruction that was at `from` for running at `at`. Returns the number of bytes; 0
    // if an address is out of reach. A call returns to its original place.
    size_t (*move)(const struct ggs_instruction * instruction, const uint8_t * bytes, uint64_t from,
                   uint8_t to[GGS_MOVED_MOST], uint64_t at);

    // True if the 4 bytes at `at` may be a part of what refers to the address. Fast.
    bool (*may_refer)(const uint8_t * bytes, uint64_t at, uint64_t address);
    // True if the function of these bytes, which is at `at`, refers to the address.
    bool (*refers)(const uint8_t * bytes, size_t size, uint64_t at, uint64_t address);
    // Returns the address that the function returns if it does nothing else; else 0.
    uint64_t (*returned)(const uint8_t * bytes, size_t size, uint64_t at);
};

extern const struct ggs_processor ggs_processor_x86_64, ggs_processor_aarch64;

// The processor of an ELF file (EM_X86_64, EM_AARCH64); NULL for others.
const struct ggs_processor * ggs_processor_of(unsigned elf_machine);

// The processor that this code is compiled for; NULL for others.
const struct ggs_processor * ggs_processor_here(void);
