// Makes files cold: drops them from the page cache, so that the next read waits for the disk. Needs
// only permission to read them.
//
// The kernel keeps dirty pages (so the files are synced first) and pages that a process has mapped;
// these are counted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ggs_error;

struct ggs_cold {
    size_t   files;
    uint64_t bytes;  // of the files
    uint64_t before; // bytes in memory before and after
    uint64_t after;
    bool     unknown;     // unknown for some files: neither ours nor writable
    pid_t    holder;      // a process that has one of them mapped, or 0
    char     command[64]; // its name
};

// Drops all files of a GGUF model.
int ggs_cold_drop(struct ggs_cold * cold, const char * model, struct ggs_error * error);

// The opposite: reads all files of a model into the page cache, as far as there is room.
int ggs_cold_warm(const char * model, struct ggs_error * error);
