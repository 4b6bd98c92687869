// A program or library in the process's memory. Files are not read, because they may have been
// replaced.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_tracee;

struct ggs_image {
    const struct ggs_tracee * tracee;
    uint64_t                  base;            // address of its ELF header
    uint64_t                  bias;            // added to the addresses in the file
    uint64_t                  end;             // of its last segment
    uint64_t                  data_end;        // of its last writable segment, 0 if it has none
    uint64_t                  code, code_size; // the largest executable segment
    uint16_t                  machine;
    bool                      interpreted;               // names a dynamic linker, as programs do
    uint64_t                  variables, variables_size; // of thread-local variables
    uint64_t                  relocations, relocations_size;
    uint64_t                  symbols, strings, strings_size, hash, versions; // 0 if none
};

// False if there is no readable 64-bit ELF object.
bool ggs_image_open(struct ggs_image * image, const struct ggs_tracee * tracee, uint64_t base);
// Finds the first object whose file name begins with `name`; `*next` continues a search, 0 at
// first.
bool ggs_image_find(struct ggs_image * image, const struct ggs_tracee * tracee, const char * name, size_t * next);
// Returns the address of an exported function or variable, 0 if there is none of that name.
uint64_t ggs_image_symbol(const struct ggs_image * image, const char * name);
// Finds the place of the object's thread-local variables: their distance below a thread's block, or
// the object's number in the thread's table of modules. Both are 0 if unknown.
void ggs_image_variables_place(const struct ggs_image * image, uint64_t * distance, uint64_t * module);
// Returns the address of these bytes in the object's code, 0 if there are none.
uint64_t ggs_image_search(const struct ggs_image * image, const void * bytes, size_t size);
