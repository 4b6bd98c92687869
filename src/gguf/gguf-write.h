// Writes a model anew: the same key-values and the same tensors, byte for byte, in another order and with another alignment.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gguf/gguf.h"

struct ggs_error;

struct ggs_gguf_layout {
    const size_t * order;     // of gguf->tensors, all of them
    uint32_t       alignment; // a power of two: general.alignment of the new file
    // Told now and then how many bytes are written; false ends it, and nothing stays. May be NULL.
    bool (*progress)(void * context, uint64_t done);
    void * context;
};

// Can it be written anew? A file of a split model and one with tensors of a type that is not known are refused.
int ggs_gguf_check_writable(const struct ggs_gguf * gguf, struct ggs_error * error);

// The size that the new file will have. 0 if there can be no such file.
uint64_t ggs_gguf_written_size(const struct ggs_gguf * gguf, const struct ggs_gguf_layout * layout);

// Writes it to `path`, which appears whole or not at all; what is there is replaced, the model itself too. Room is taken before the first byte is
// written, memory does not grow with the model.
int ggs_gguf_write(const struct ggs_gguf * gguf, const struct ggs_gguf_layout * layout, const char * path,
                   struct ggs_error * error);
