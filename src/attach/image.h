// A program or library as it lies in the process's memory. Files are not read: they may have been replaced since.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_tracee;

struct ggs_image {
    const struct ggs_tracee * tracee;
    uint64_t                  base;            // where its ELF header lies
    uint64_t                  bias;            // what its own addresses are relative to
    uint64_t                  end;             // of its last segment
    uint64_t                  data_end;        // of its last writable segment, 0 if it has none
    uint64_t                  code, code_size; // the largest executable segment
    uint16_t                  machine;
    uint64_t variables, variables_size; // initial values of its thread-local variables, 0 if it has none
    uint64_t relocations, relocations_size;
    uint64_t symbols, strings, strings_size, hash, versions; // of its dynamic section, 0 for none
};

// False if no readable 64-bit ELF object lies there.
bool ggs_image_open(struct ggs_image * image, const struct ggs_tracee * tracee, uint64_t base);
// The first object in the process whose file name begins with `name`; `*next` continues a search, 0 at first.
bool ggs_image_find(struct ggs_image * image, const struct ggs_tracee * tracee, const char * name, size_t * next);
// The address of an exported function, 0 if it has none of that name.
uint64_t ggs_image_symbol(const struct ggs_image * image, const char * name);
// How far below a thread's block its thread-local variables lie, for an object that has them at a fixed place; 0 if it has
// none there.
uint64_t ggs_image_variables_distance(const struct ggs_image * image);
// Where these bytes lie in its code, 0 if nowhere.
uint64_t ggs_image_search(const struct ggs_image * image, const void * bytes, size_t size);
