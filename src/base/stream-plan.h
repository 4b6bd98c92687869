// How `ggscope stream` divides memory between kept weights, a ring for the other weights, and slots
// for experts. Shared by the preload library and by the analysis that predicts it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_STREAM_SMALL = 64 << 10 }; // smaller weights are left to the page cache

struct ggs_stream_plan {
    // Input. Bytes include alignment.
    const uint64_t * dense; // of each weight that every token uses
    uint64_t         n_dense;
    uint64_t         largest_experts; // all experts of the largest weight with experts; 0 without experts
    uint64_t         one_slot_each;   // one slot in every layer
    uint64_t         all_slots;       // slots for all experts
    uint64_t         least_slots;     // the slots that one token needs
    // Result.
    uint64_t ring;  // 0: everything is kept
    uint64_t spare; // for graphs that choose more experts of a layer than it has slots
    uint64_t kept;  // maximum
    // Minimum, plus what is not kept: the same number of slots for every layer, and one more for
    // some layers if memory is left. 0 with experts: memory is too small for slots, and all experts
    // go through spare memory.
    uint64_t slots;
    uint64_t mapped_above; // larger dense weights stay mapped: nothing could be streamed beside them
};

// Divides `budget`. False if it is too small for streaming.
bool ggs_stream_plan(struct ggs_stream_plan * plan, uint64_t budget);

// Spare memory in chunks, which are moved from weight to weight.
struct ggs_stream_chunks {
    uint64_t granule; // a chunk begins at a multiple of it
    uint64_t bytes;   // of one chunk
    uint64_t n;       // of all
};

// Divides `spare` bytes. `least`: bytes that one weight needs beyond its slots. The chunks may take
// more than `spare`: slots give up the difference, because spare memory for two weights must not
// fall short of a chunk for the second.
struct ggs_stream_chunks ggs_stream_chunks(uint64_t spare, uint64_t least);

// Ages the scores that decide which expert is evicted: the least often chosen one, with older
// choices counting less. A choice adds `weight` to its expert's score. Call this before the choices
// of a token: it increases the weight, which has the effect of shrinking all scores.
void ggs_stream_age(double * weight, double * scores, uint64_t n);

// Returns the part of a limit that streaming leaves free for uncounted memory: libraries, page
// tables, small weights, work memory that grows with the batch.
uint64_t ggs_stream_reserve(uint64_t limit);

// True if the i-th of n layers, with slots of `bytes`, gets one slot more out of `rest` bytes,
// which do not suffice for all layers. The extra slots are spread over the model. `used`: bytes of
// the rest in use, 0 at first.
bool ggs_stream_one_more(uint64_t rest, uint64_t * used, uint64_t i, uint64_t n, uint64_t bytes);

// True if `tokens` that choose `used` experts each will choose nearly all of `n` experts. They are
// then read ahead of the choice.
bool ggs_stream_nearly_all(uint64_t n, uint64_t used, uint64_t tokens);
