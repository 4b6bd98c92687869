// Decodes the length of an x86-64 instruction and its branch target: all instructions in legacy,
// VEX and EVEX encoding, direct branches with their targets, and the position of a rip-relative
// address.
#pragma once

#include "base/code/processor.h"

bool ggs_x86_64_decode(struct ggs_instruction * instruction, const uint8_t * bytes, size_t size);
