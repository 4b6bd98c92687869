// Columns to bytes and back: the contents of a chunk's zstd frame (drawn in format.h).
#pragma once

#include <stdint.h>

#include "trace/schema.h"

// Rows by column, before or after a chunk. words[i] is the array of the i-th member of the row
// struct; for a BYTES column the first word is a pointer and the second a length. A zeroed struct
// is an empty block; release frees what it owns.
struct ggs_block {
    const struct ggs_schema * schema;
    uint32_t                  rows;
    uint32_t                  capacity;               // rows
    uint64_t *                words[GGS_COLUMNS_MAX]; // into `storage`
    uint64_t *                storage;
    char *                    bytes; // of the BYTES column: a NUL after each value
    uint64_t                  n_bytes;
    uint64_t                  bytes_capacity;
};

void ggs_block_release(struct ggs_block * block);
// Adds one row, copying its bytes. The pointer word of a BYTES column is an offset until
// ggs_block_encode.
int ggs_block_append(struct ggs_block * block, const void * row);

// Encodes the frame's contents: *out is allocated or grown (*capacity) as needed. Returns its
// length, 0 when out of memory.
uint64_t ggs_block_encode(struct ggs_block * block, uint8_t ** out, uint64_t * capacity);
// Decodes a frame's contents. On failure returns GGS_FORMAT or GGS_MEMORY, with the reason in *why.
int ggs_block_decode(struct ggs_block * block, const struct ggs_schema * schema, uint32_t rows, const uint8_t * data,
                     uint64_t size, const char ** why);
