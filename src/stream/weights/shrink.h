// Gives memory back while graphs run: another program of the control group may allocate faster than
// runs end.
//
// Both functions need the stream's lock; callable from any thread.
#pragma once

#include <stdint.h>

struct ggs_stream;

// Releases up to `bytes` of weights and slots that no op uses. Returns the released bytes. Releases
// the lock now and then, because the thread that runs the graph must not wait long. Allocates
// nothing.
uint64_t ggs_stream_shrink(struct ggs_stream * stream, uint64_t bytes);

// Of `empty` bytes, as counted by the memory, returns those promised to weights: memory given back
// is not promised.
uint64_t ggs_stream_promised(const struct ggs_stream * stream, uint64_t empty);
