// The functions of an object as its file, or its debug file, lists them: .symtab, which is never
// loaded into memory.
//
// Files are untrusted and may change while they are read: every offset and count is checked, and
// nothing is mapped.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code/entry.h"

enum { GGS_BUILD_ID_MOST = 64 };

struct ggs_build_id {
    uint8_t  bytes[GGS_BUILD_ID_MOST];
    unsigned size; // 0: none
};

struct ggs_symbols {
    struct ggs_code_function * items; // sorted by address
    size_t                     count;
    struct ggs_code_range      stubs[GGS_CODE_STUBS];
    unsigned                   n_stubs;
    char *                     names; // that the items point into
    size_t                     names_size;
    bool                       stripped; // neither the file nor a debug file has a table
};

// An object in memory, whose file is wanted.
struct ggs_symbols_of {
    const void *        headers; // its program headers
    size_t              headers_size;
    struct ggs_build_id id;
};

// Reads the symbols of the file, or of the debug file that is installed for its build id, if there
// is a function of this name. `of`: what is in memory, which must be of this file; NULL if any is
// good. If it is stripped, its stubs are read all the same.
bool ggs_symbols_read(struct ggs_symbols * symbols, const char * path, const struct ggs_symbols_of * of,
                      const char * function);
void ggs_symbols_release(struct ggs_symbols * symbols);

// The build id in the notes at `notes`.
void ggs_build_id_find(struct ggs_build_id * id, const uint8_t * notes, size_t size);
