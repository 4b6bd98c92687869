// The tensor types of GGUF files: elements and bytes per block.
//
// Numbers and names are ggml's. Types that ggml removed keep their entry (`removed`), so that old
// files can be mapped. A number beyond the table (a newer or forked ggml) is not an error here:
// ggs_type_find returns NULL and the reader derives the tensor's size from its neighbours.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_gguf_type {
    const char * name;           // that of ggml_type_name(): "f32", "q4_K"; NULL for an unused number
    uint32_t     block_elements; // elements per block, along the first dimension
    uint32_t     block_bytes;
    bool         removed; // current releases of ggml refuse files with it
};

// The table covers types 0 .. GGS_TYPE_COUNT - 1.
enum { GGS_TYPE_COUNT = 43 };

// Returns the entry of a type, NULL if the table has none. Points to constant data.
const struct ggs_gguf_type * ggs_type_find(uint32_t type);

// Writes "q4_K", or "type 99?" for an unknown type. Writes at most `size` bytes and returns
// `buffer`.
enum { GGS_TYPE_NAME_LENGTH = 24 };
char * ggs_type_name(char * buffer, size_t size, uint32_t type);
