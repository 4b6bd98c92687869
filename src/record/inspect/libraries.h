// The ggml and llama.cpp libraries that a program would load, found without running anything:
// searched like the dynamic linker does (run paths, LD_LIBRARY_PATH, the usual folders), and in the
// folder of what needs them, with the backends beside them.
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

// True for the file name of a library of ggml or llama.cpp.
bool ggs_library_is_engine(const char * name);

// Adds a file, unless it is listed or no ELF file. Returns 0, or GGS_MEMORY.
int ggs_libraries_add(struct ggs_libraries * libraries, const char * path);
// The same for a file of a process, which may be gone from `path` and is opened as `file`.
int ggs_libraries_add_file(struct ggs_libraries * libraries, const char * path, const char * file);
// Adds every libggml-cpu*.so of a folder, and of the folders below it that may have backends.
int ggs_libraries_add_backends(struct ggs_libraries * libraries, const char * folder);
// The same for every libggml*.so.
int ggs_libraries_add_ggml(struct ggs_libraries * libraries, const char * folder);
// Adds what `elf`, the file at `path`, needs of ggml and llama.cpp, what that needs, and the
// backends beside it.
int ggs_libraries_add_needed(struct ggs_libraries * libraries, const struct ggs_elf * elf, const char * path);
// The first library of ggml or llama.cpp that `elf`, the file at `path`, needs and that is not
// found; NULL if there is none.
const char * ggs_libraries_missing(const struct ggs_elf * elf, const char * path);
void         ggs_libraries_release(struct ggs_libraries * libraries);
