// Reads ELF files: what a program or library defines, calls and needs. It explains, before or after
// a recording, why calls can or cannot be recorded.
//
// A preloaded library can hook a call to an exported function if the call goes through a relocation
// of the dynamic linker: a slot of the PLT, or an address in the global offset table. Direct calls
// within a library (static functions, -Bsymbolic-functions, link-time optimisation) have none.
//
// Only 64-bit little-endian files are read. Files are untrusted: every offset and count is checked
// before it is used.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system/file.h"

struct ggs_error;

struct ggs_elf_table { // [offset, offset + size) lies inside the file
    uint64_t offset, size;
};

struct ggs_elf {
    struct ggs_mapping   mapping;
    uint16_t             machine;     // EM_X86_64, ...
    const char *         interpreter; // the dynamic linker; NULL for static programs and libraries
    bool                 dynamic;     // has a dynamic section
    bool                 library;     // not a program: a dynamic section, no dynamic linker
    bool                 symbolic;    // -Bsymbolic: the library's own definitions win
    bool                 cut_off;     // the file ends before what it loads
    const char *         runpath;     // DT_RUNPATH, else DT_RPATH; NULL for none
    struct ggs_elf_table dynamic_entries, dynamic_symbols, dynamic_strings;
    struct ggs_elf_table symbols, strings; // .symtab, if the file is not stripped
    struct ggs_elf_table relocations[2];   // DT_JMPREL and DT_RELA
    struct ggs_elf_table code, frames;     // the largest executable segment; the table of functions
    uint64_t             code_address, frames_address;
};

// Returns GGS_FORMAT if it is no ELF file, GGS_UNSUPPORTED if it is another kind (32 bits, big
// endian).
int  ggs_elf_open(struct ggs_elf * elf, const char * path, struct ggs_error * error);
void ggs_elf_close(struct ggs_elf * elf);

enum ggs_elf_definition {
    GGS_ELF_UNDEFINED,
    GGS_ELF_LOCAL,    // in the symbol table only: not visible to the dynamic linker
    GGS_ELF_EXPORTED, // in the dynamic symbol table
};
enum ggs_elf_definition ggs_elf_defines(const struct ggs_elf * elf, const char * function);
// True if there is a relocation for it.
bool ggs_elf_calls(const struct ggs_elf * elf, const char * function);
// Lists at most `most` addresses of slots through which it is called; returns their number.
unsigned ggs_elf_slots(const struct ggs_elf * elf, const char * function, uint64_t * slots, unsigned most);
// True if the function that calls `marker` through the dynamic linker, or a caller of it, also
// calls `function` that way (calls.c). False if `function` is inlined there, even if the rest of
// the file calls it.
enum ggs_elf_answer { GGS_ELF_NOT_KNOWN, GGS_ELF_NO, GGS_ELF_YES };
enum ggs_elf_answer ggs_elf_calls_beside(const struct ggs_elf * elf, const char * marker, const char * function);
// The i-th library that it needs, NULL after the last.
const char * ggs_elf_needs(const struct ggs_elf * elf, size_t i);
// The name of the i-th exported function, NULL if symbol i is none; false after the last symbol.
bool ggs_elf_exports(const struct ggs_elf * elf, size_t i, const char ** name);
// True if the file contains these bytes. For programs without symbols.
bool ggs_elf_contains(const struct ggs_elf * elf, const char * text);
