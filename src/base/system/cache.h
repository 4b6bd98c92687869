// Small files that persist between runs, in $XDG_CACHE_HOME/ggscope or ~/.cache/ggscope.
//
// An unreadable file counts as missing. Failed writes are ignored.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// KIND-HASH.json, with a hash of the identity. False if there is no home directory.
bool ggs_cache_path(const char * kind, const char * identity, char path[PATH_MAX]);

// Deletes all files of a kind.
void ggs_cache_remove(const char * kind);

// Reads a whole regular file of fewer than `size` bytes and adds a NUL. False for anything else.
bool ggs_cache_read(const char * path, char * text, size_t size);

// Writes the file, creating its folders, as a whole or not at all.
bool ggs_cache_write(const char * path, const char * text, size_t length);
