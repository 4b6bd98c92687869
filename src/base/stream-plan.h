// How `ggscope stream` divides memory between weights that are kept, a ring that others go through,
// and slots of experts: for the library that does it, and for the analysis that predicts it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_STREAM_SMALL = 64 << 10 }; // weights below are left to the page cache

struct ggs_stream_plan {
    // Given. Bytes include what alignment costs.
    const uint64_t * dense; // of each weight that every token uses
    uint64_t         n_dense;
    uint64_t         largest_experts; // of the largest weight that holds experts, all of them; 0 without experts
    uint64_t         one_slot_each;   // of one slot in every layer
    uint64_t         all_slots;       // of slots for all experts
    uint64_t         least_slots;     // of the slots that one token needs
    // Decided.
    uint64_t ring;  // 0: everything is kept
    uint64_t spare; // for graphs that choose more experts of a layer than it has slots
    uint64_t kept;  // at most
    // At least, and what is not kept: the same number of slots for every layer, and if that leaves
    // something, one more for some of them. 0 with experts: memory is too little for that, and all
    // of them go through spare memory.
    uint64_t slots;
    uint64_t mapped_above; // dense weights of more bytes are left to the mapping: nothing could be streamed beside them
};

// Divides `budget`. False if it is too little to stream with.
bool ggs_stream_plan(struct ggs_stream_plan * plan, uint64_t budget);

// Which expert gives way: the one that was chosen least often, where older choices count less and
// less. A choice adds `weight` to its expert's score; this is called before those of a token, and
// has the weight grow, which is the same as all scores shrinking.
void ggs_stream_age(double * weight, double * scores, uint64_t n);

// What is left alone of a limit, for what is not counted: libraries, page tables, small weights,
// work memory that grows with the batch.
uint64_t ggs_stream_reserve(uint64_t limit);

// Is the i-th of n layers, whose slot has `bytes`, one of those that get one slot more, of `rest`
// bytes that are too few for all? They are spread over the model. `used`: of the rest so far, 0 at
// first.
bool ggs_stream_one_more(uint64_t rest, uint64_t * used, uint64_t i, uint64_t n, uint64_t bytes);

// Will nearly all of `n` experts be chosen by `tokens` that choose `used` each? Then they are read
// before they are.
bool ggs_stream_nearly_all(uint64_t n, uint64_t used, uint64_t tokens);
