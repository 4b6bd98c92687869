// Blocks of quantized types, written without quantizing anything: random bits, and a scale that
// gives their values the wanted deviation.
//
// Quantizers search among rounded sums, and the last bit of a sum differs between processors and
// compilers; what is written here is integers, so that it is the same bytes everywhere.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Makes a block of `size` bytes of a type out of random bytes. False if the type is none of those
// that are known here: then nothing has changed.
bool ggs_synth_block(int type, uint8_t * block, double deviation);
// Is the type known here?
bool ggs_synth_block_known(int type);
