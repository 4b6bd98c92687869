// The ggml and llama.cpp libraries that a program would load, found without running anything: as
// the dynamic linker would search for them (run paths, LD_LIBRARY_PATH, the usual folders), and
// backends beside them.
#pragma once

#include <stddef.h>

#include "base/system/file.h"
#include "record/inspect/elf.h"

struct ggs_library {
    char *         path;
    struct ggs_elf elf;
};

struct ggs_libraries {
    struct ggs_library * items;
    size_t               count, capacity;
};

// By its file name: is it one of ggml's or llama.cpp's own?
bool ggs_library_is_engine(const char * name);

// Adds a file; one that is there already, or is no ELF file, is left out. Returns 0, or GGS_MEMORY.
int ggs_libraries_add(struct ggs_libraries * libraries, const char * path);
// Adds every libggml-cpu*.so of a folder, and of the folders below it that backends may have to
// themselves.
int ggs_libraries_add_backends(struct ggs_libraries * libraries, const char * folder);
// Likewise every libggml*.so.
int ggs_libraries_add_ggml(struct ggs_libraries * libraries, const char * folder);
// Adds what `elf`, which lies at `path`, needs of ggml and llama.cpp, and what that needs, and the
// backends beside it.
int  ggs_libraries_add_needed(struct ggs_libraries * libraries, const struct ggs_elf * elf, const char * path);
void ggs_libraries_release(struct ggs_libraries * libraries);
