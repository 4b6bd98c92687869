// The functions of an object from its file or debug file: .symtab, which is never loaded into
// memory.
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
    char *                     names; // storage of the names of `items`
    size_t                     names_size;
    bool                       stripped; // neither the file nor a debug file has a symbol table
};

// An object in memory whose file is to be found.
struct ggs_symbols_of {
    const void *        headers; // its program headers
    size_t              headers_size;
    struct ggs_build_id id;
};

// Reads the symbols of the file, or of the debug file installed for its build id, if a function of
// this name exists. `of`: the object in memory that the file must match; NULL accepts any. The
// stubs of a stripped file are read as well.
bool ggs_symbols_read(struct ggs_symbols * symbols, const char * path, const struct ggs_symbols_of * of,
                      const char * function);
void ggs_symbols_release(struct ggs_symbols * symbols);

// Finds the build id in the notes at `notes`.
void ggs_build_id_find(struct ggs_build_id * id, const uint8_t * notes, size_t size);
