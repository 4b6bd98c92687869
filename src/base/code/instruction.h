// Decodes the length of an x86-64 instruction and its branch target.
//
// This suffices to displace the first instructions of a function and to find jumps into them:
// lengths of all instructions in legacy, VEX and EVEX encoding, direct branches with their targets,
// and the position of a rip-relative address. Operands and meanings are not decoded.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ggs_instruction_kind {
    GGS_INSTRUCTION_ORDINARY, // continues with the next instruction
    GGS_INSTRUCTION_JUMP,     // to `target`
    GGS_INSTRUCTION_BRANCH,   // jcc: to `target` or the next instruction
    GGS_INSTRUCTION_CALL,     // of `target`
    GGS_INSTRUCTION_CALL_INDIRECT,
    GGS_INSTRUCTION_JUMP_INDIRECT,
    GGS_INSTRUCTION_RETURN,
    GGS_INSTRUCTION_SPECIAL, // system calls, traps, loop, jrcxz, xbegin: never displaced
};

struct ggs_instruction {
    uint8_t                   length;
    enum ggs_instruction_kind kind;
    uint8_t                   relative_at; // offset of the 4 bytes of a rip-relative address; 0: none
    int64_t                   target;      // of a direct branch, relative to the start of the instruction
    uint8_t                   condition;   // of a BRANCH: the low 4 bits of its opcode
};

// False if the instruction is unknown or `size` ends within it. Never reads beyond `size`.
bool ggs_instruction_decode(struct ggs_instruction * instruction, const uint8_t * bytes, size_t size);

// True if the bytes begin with endbr64, a target of indirect branches.
bool ggs_instruction_is_endbr(const uint8_t * bytes, size_t size);
enum { GGS_ENDBR_LENGTH = 4 };
