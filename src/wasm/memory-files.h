// The files of the module, all in memory: traces and the heads of model files. open, fstat, pread
// and mmap of memory-files.c find them by path, so the code that reads files is the same as in the
// program.
#pragma once

#include <stddef.h>
#include <stdint.h>

// `data` belongs to the caller and must outlive the module. `size` may exceed `known`, as for model
// files: the rest reads as zeros. Returns 0, or -1 if out of memory. An existing path gets the new
// contents.
int ggs_file_add(const char * path, const void * data, size_t known, uint64_t size);
