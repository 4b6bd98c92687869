// The order of reads of the model's bytes. Fed with every read in the order of the ops.
//
//     sequential   bytes of reads that begin at most `gap` bytes after the end of the previous one
//     jump         distance of other reads from the end of the previous one, in the same file
//     reuse        bytes of the model read between two reads of the same byte, with repetitions
//                  (the size that a cache needs is that of ggs_paging_lru)
#pragma once

#include <stdint.h>

#include "analyze/memory/last-reads.h"
#include "analyze/walk/trace.h"
#include "base/quantiles.h"

enum { GGS_PATTERN_BINS = 64 }; // bin i: values in [2^(i-1), 2^i); bin 0: zero

struct ggs_pattern {
    uint64_t gap; // set after init
    uint64_t reads, bytes;
    uint64_t sequential, sequential_strict; // bytes; strict: without a gap
    uint64_t jumps, jumps_strict;           // reads that do not continue
    uint64_t jumps_between_files;           // of both: without a distance
    uint64_t jump_bins[GGS_PATTERN_BINS];   // strict jumps by distance
    uint64_t reuse_bins[GGS_PATTERN_BINS];  // bytes by reuse distance
    uint64_t first_bytes;                   // read for the first time
    // After ggs_pattern_end, in bytes; 0 if there are none.
    uint64_t jump_median, jump_90, reuse_median, reuse_90;
    bool     is_rounded; // rounded: at most 1/2048 too small; else exact
    // by tensor - 1
    struct ggs_tensor_use {
        uint64_t reads, bytes;
    } * uses;
    uint64_t n_uses;
    // private
    uint64_t                file, end; // end of the last read
    struct ggs_last_reads * last;      // by file - 1
    uint64_t                n_files;
    struct ggs_quantiles    jump_lengths, reuse_distances;
};

int  ggs_pattern_init(struct ggs_pattern * pattern, const struct ggs_trace * trace, struct ggs_error * error);
void ggs_pattern_release(struct ggs_pattern * pattern);

// Adds a read of [begin, begin + length) of a file (from 1) for a tensor. False: out of memory.
bool ggs_pattern_read(struct ggs_pattern * pattern, uint64_t tensor, uint64_t file, uint64_t begin, uint64_t length);
// Ends the reads.
void ggs_pattern_end(struct ggs_pattern * pattern);
