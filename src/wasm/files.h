// The files that the module can see: traces and the beginnings of model files, all in memory. open,
// fstat, pread and mmap of files.c find them by path, so that the code which reads files is the
// same here as in the program.
#pragma once

#include <stddef.h>
#include <stdint.h>

// `data` stays the caller's and must stay. A file may be larger than what is known of it, as a
// model's is: the rest reads as zeros. Returns 0, or -1 when out of memory. A path that is there
// already gets the new contents.
int ggs_file_add(const char * path, const void * data, size_t known, uint64_t size);
