// The tensor types that a GGUF file may name: how many elements a block holds, how many bytes it
// takes.
//
// Numbers and names are ggml's own. Types that ggml has removed keep their entry, so that old files
// can still be mapped; `removed` marks them. A number above the table (a newer or a forked ggml) is
// not an error here: ggs_type_find returns NULL and the reader places the tensor by its neighbours.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_gguf_type {
    const char * name;           // as ggml_type_name() says it: "f32", "q4_K"; NULL marks a hole in the table
    uint32_t     block_elements; // elements per block, along the first dimension
    uint32_t     block_bytes;
    bool         removed; // today's ggml refuses files with it
};

// Types 0 .. GGS_TYPE_COUNT - 1 may be in the table.
enum { GGS_TYPE_COUNT = 43 };

// The entry of a type, or NULL if the table has none. Points to constant data.
const struct ggs_gguf_type * ggs_type_find(uint32_t type);

// "q4_K", or "type 99?" for one that the table does not know. Writes at most `size` bytes and
// returns `buffer`.
enum { GGS_TYPE_NAME_LENGTH = 24 };
char * ggs_type_name(char * buffer, size_t size, uint32_t type);
