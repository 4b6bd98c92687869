// Writes a planned model as GGUF, version 3: one file, or several by the naming of llama.cpp's own
// splits (NAME-00001-of-00003.gguf). Memory stays small whatever the model's size.
//
// All files appear whole under their names at the end, or none does: not when the disk is full, and
// not when the program is interrupted (SIGINT, SIGTERM and SIGHUP wait until the temporary files
// are removed, then act as ever).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_synth_metadata;
struct ggs_synth_plan;

struct ggs_synth_job {
    const char *                      path;
    uint32_t                          splits; // 0: one file, named `path` itself
    bool                              force;  // replace files that exist
    uint64_t                          seed;
    const struct ggs_synth_plan *     plan; // with types
    const struct ggs_synth_metadata * metadata;
};

// Stores the bytes written in all files together.
int ggs_synth_write(const struct ggs_synth_job * job, uint64_t * size, struct ggs_error * error);

// The path of file `number` (from 0); the caller frees it. NULL when out of memory.
char * ggs_synth_path(const struct ggs_synth_job * job, uint32_t number);
