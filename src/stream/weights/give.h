// Giving memory back while graphs run: another program of the control group may take memory faster
// than runs end.
//
// Both functions: with the stream's lock held, from any thread.
#pragma once

#include <stdint.h>

struct ggs_stream;

// Lets go of memory of weights and slots that no op uses, `bytes` of it if there is so much.
// Returns how much it was. Lets go of the lock now and then: the thread that runs the graph must
// not wait long. Allocates nothing.
uint64_t ggs_stream_shrink(struct ggs_stream * stream, uint64_t bytes);

// Of `empty` bytes, as the memory counts them, those that weights were promised: what was given
// back is no promise.
uint64_t ggs_stream_promised(const struct ggs_stream * stream, uint64_t empty);
