// In which order are the bytes of the model read? Fed with every read of model bytes, in the order of the ops.
//
//     sequential   bytes that continue where the read before ended
//     jump         how far a read that does not continue begins from where the last one ended
//     reuse        bytes of the model that were read between two reads of the same tensor: what a cache would have to hold
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_PATTERN_BINS = 64 }; // bin i: values in [2^(i-1), 2^i); bin 0: zero

struct ggs_pattern {
    uint64_t reads, bytes;
    uint64_t sequential; // bytes
    uint64_t jumps;
    uint64_t jump_bins[GGS_PATTERN_BINS];  // jumps by distance
    uint64_t reuse_bins[GGS_PATTERN_BINS]; // bytes by reuse distance
    uint64_t first_bytes;                  // bytes of tensors that were read for the first time
    // by tensor - 1
    struct ggs_tensor_use {
        uint64_t reads, bytes;
        uint64_t last; // what `bytes` of the pattern was after its last read; 0: never read
    } * uses;
    uint64_t n_uses;
    uint64_t file, end; // where the last read ended
};

int  ggs_pattern_init(struct ggs_pattern * pattern, const struct ggs_trace * trace, struct ggs_error * error);
void ggs_pattern_release(struct ggs_pattern * pattern);

// A read of [begin, begin + length) of a file, for a tensor.
void ggs_pattern_read(struct ggs_pattern * pattern, uint64_t tensor, uint64_t file, uint64_t begin, uint64_t length);

// The value below which `share` (0..1) of the weight in the bins lies: the upper end of its bin. 0 if the bins are empty.
uint64_t ggs_pattern_quantile(const uint64_t bins[GGS_PATTERN_BINS], double share);
