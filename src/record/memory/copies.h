// How much of a model an engine copies into its own memory at load, instead of reading the mapping.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/inspect/cpu-library.h"

struct ggs_model;

// Options of llama.cpp's programs, and their result.
struct ggs_copies {
    bool     no_mmap;   // everything is read into memory
    bool     no_repack; // nothing is converted to another layout
    uint64_t bytes;     // copied weights: an upper bound, because engines differ
    uint64_t model_bytes;
};

// Finds the options in a command line, and computes `bytes` for an engine with these layouts.
void ggs_copies_find(struct ggs_copies * copies, const struct ggs_model * model, char * const * command,
                     const struct ggs_cpu_layouts * layouts);
