// Divides memory among the weights, according to base/stream-plan.h.
//
// Both functions need the stream's lock, with nothing READING and nothing in use.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_stream;

// Decides for all weights with `budget` bytes and allocates the memory. False, without memory held,
// if streaming gains nothing.
bool ggs_divide(struct ggs_stream * stream, uint64_t budget);

// Releases all memory of weights.
void ggs_divide_undo(struct ggs_stream * stream);
