// Makes files cold: out of the page cache, so that the next read waits for the disk. Needs no
// rights beyond reading them.
//
// The kernel keeps what is dirty (so the files are synced first) and what a process has mapped; how
// much stayed is counted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ggs_error;

struct ggs_cold {
    size_t   files;
    uint64_t bytes;  // of the files
    uint64_t before; // bytes that were in memory, and that are now
    uint64_t after;
    bool     unknown; // some files are neither ours nor writable: of these the kernel does not say what is in memory
    pid_t    holder;  // a process that has one of them mapped, 0 if none was found
    char     command[64]; // its name
};

// Drops the files of a GGUF model, every one of a split model's.
int ggs_cold_drop(struct ggs_cold * cold, const char * model, struct ggs_error * error);

// The opposite: reads all files of a model, so that they are in the page cache as far as it has
// room.
int ggs_cold_warm(const char * model, struct ggs_error * error);
