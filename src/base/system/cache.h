// Small files that are kept from run to run, in $XDG_CACHE_HOME/ggscope or ~/.cache/ggscope.
//
// What cannot be read is as what is not there, and what cannot be written is left out.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// KIND-HASH.json, by a hash of the identity; false if there is no home.
bool ggs_cache_path(const char * kind, const char * identity, char path[PATH_MAX]);

// Deletes all files of a kind.
void ggs_cache_remove(const char * kind);

// The whole of a file of fewer than `size` bytes, ended by 0. False where it is no regular file.
bool ggs_cache_read(const char * path, char * text, size_t size);

// Writes the file, and its folders, as a whole or not at all.
bool ggs_cache_write(const char * path, const char * text, size_t length);
