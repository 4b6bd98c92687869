// Writes a planned model as GGUF version 3: one file, or several with llama.cpp's names for splits
// (NAME-00001-of-00003.gguf). Memory use does not depend on the model's size.
//
// All files appear whole at the end, or none does, even if the disk is full or the program is
// interrupted: SIGINT, SIGTERM and SIGHUP are deferred until the temporary files are removed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_synth_metadata;
struct ggs_synth_plan;

struct ggs_synth_job {
    const char *                      path;
    uint32_t                          splits; // 0: one file named `path`
    bool                              force;  // replace files that exist
    uint64_t                          seed;
    const struct ggs_synth_plan *     plan; // with types
    const struct ggs_synth_metadata * metadata;
};

// Stores the total bytes of all files.
int ggs_synth_write(const struct ggs_synth_job * job, uint64_t * size, struct ggs_error * error);

// Returns the path of file `number` (from 0); the caller frees it. NULL if out of memory.
char * ggs_synth_path(const struct ggs_synth_job * job, uint32_t number);
