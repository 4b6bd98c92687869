// How memory is divided among the weights, by base/stream-plan.h.
//
// Both functions: with the stream's lock held, while nothing is READING and nothing in use.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_stream;

// Decides for all weights with `budget` bytes for them, and takes the memory. False if nothing is
// gained by streaming: then no memory is held.
bool ggs_divide(struct ggs_stream * stream, uint64_t budget);

// Gives back all memory that weights have.
void ggs_divide_undo(struct ggs_stream * stream);
