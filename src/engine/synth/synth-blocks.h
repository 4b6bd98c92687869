// Makes blocks of quantized types without quantizing: random bits, and a scale that gives their
// values the wanted standard deviation.
//
// Quantizers compare rounded sums, whose last bit differs between processors and compilers. This
// code writes integers, so the bytes are equal everywhere.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Makes a block of a type out of random bytes. False, without changes, for an unsupported type.
bool ggs_synth_block(int type, uint8_t * block, double deviation);
// True if the type is supported.
bool ggs_synth_block_supported(int type);
