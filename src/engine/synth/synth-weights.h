// The bytes of synthetic tensors.
//
// Making a billion weights would take minutes. Instead, a pool of some thousand random blocks is
// made once per type and scale (synth-blocks.h), and a tensor is a random sequence of blocks from
// its pool: rows and experts differ, and writing costs little more than copying. This works for
// every type, because blocks are independent. If a row is one block, as in `tiny` with rows of 256,
// some rows of a large tensor are equal.
//
// The sequence and the blocks follow from the seed and the tensor's name, type and scale, in
// integer arithmetic: the same seed gives the same bytes on every machine.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_synth_pool;
struct ggs_synth_tensor;

struct ggs_synth_weights {
    uint64_t                seed;
    struct ggs_synth_pool * pools; // linked list
};

void ggs_synth_weights_init(struct ggs_synth_weights * weights, uint64_t seed);
void ggs_synth_weights_release(struct ggs_synth_weights * weights);

// Produces the bytes of one tensor in pieces.
struct ggs_synth_stream {
    const struct ggs_synth_pool * pool;
    uint64_t                      state; // of the random number generator
    uint64_t                      left;  // bytes left
};

enum { GGS_SYNTH_PIECE_MINIMUM = 4096 }; // bytes; larger than a block of any type

// The tensor's type must be set. Fails only if memory runs out.
int ggs_synth_stream_open(struct ggs_synth_stream * stream, struct ggs_synth_weights * weights,
                          const struct ggs_synth_tensor * tensor, struct ggs_error * error);
// Fills at most `size` bytes (at least GGS_SYNTH_PIECE_MINIMUM); returns their number, 0 at the
// end.
size_t ggs_synth_stream_read(struct ggs_synth_stream * stream, void * buffer, size_t size);
