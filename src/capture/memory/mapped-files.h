// Mapped files: they turn an address into a place in a file. Thread-safe.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Writes the mappings of files to the journal if they have changed.
void ggs_mapped_files_emit(void);

// For the end of a recording: the next one gets all mappings.
void ggs_mapped_files_reset(void);

// Announces a model load, which lasts until the next graph: weights are copied from mappings that
// go away soon after.
void ggs_mapped_files_expect_load(void);
// During a load: emits the mappings if `address` lies in no known one.
void ggs_mapped_files_check_source(uint64_t address);

// A file as it was when its mapping was first looked up.
struct ggs_mapped_file {
    uint64_t device, inode, size;
    int64_t  mtime_ns;
};

// Finds the file whose bytes lie at an address, which is in use, their offset in it, and its path
// of at most `room` bytes. False if they lie in no file, or the process may change them without
// changing the file.
bool ggs_mapped_files_find(const void * address, uint64_t bytes, struct ggs_mapped_file * file, uint64_t * offset,
                           char * path, size_t room);
