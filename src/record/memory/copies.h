// How much of a model an engine copies into memory of its own when it loads it, instead of reading
// it where it is mapped.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/inspect/cpu-library.h"

struct ggs_model;

// What llama.cpp's programs are told about it.
struct ggs_copies {
    bool     no_mmap;   // everything is read into memory
    bool     no_repack; // nothing is brought into another layout
    uint64_t bytes;     // of weights that are copied then: an upper bound, because engines differ
    uint64_t model_bytes;
};

// Looks for the options in a command line, and works out `bytes` for an engine that brings weights
// into these layouts.
void ggs_copies_find(struct ggs_copies * copies, const struct ggs_model * model, char * const * command,
                     const struct ggs_cpu_layouts * layouts);
