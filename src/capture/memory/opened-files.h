// The model files that the program has opened. Thread-safe; entries are never removed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stat;

enum { GGS_FILES_MOST = 256 };

struct ggs_model_file {
    uint64_t device, inode;
    uint64_t size;
    char     path[4096]; // absolute if it could be resolved
};

// True if the file is there and begins as a GGUF file does; fills `info`.
bool ggs_file_is_gguf(const char * path, struct stat * info);
// Adds a file once.
void ggs_files_add(const char * path);
// Returns its number, or -1 if it is not a model file.
int ggs_files_find_inode(uint64_t device, uint64_t inode);
int ggs_files_find_open(int fd);
// NULL after the last one.
const struct ggs_model_file * ggs_file_get(int number);
