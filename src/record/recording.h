// Makes a recording: checks everything first, starts the program with the capture library or
// attaches to a running one, and seals the result. Shared by `ggscope record`, `ggscope run` and
// `ggscope attach`, including their options.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/options/options.h"
#include "record/launch/streaming.h"
#include "record/memory/memory-size.h"

struct ggs_error;

struct ggs_recording {
    // Options:
    const char *           output; // directory, NULL: <parent>/<date-time>-<model>
    const char *           parent; // NULL: "experiments"
    bool                   force;
    bool                   follow;
    bool                   quiet;
    const char *           gpu_ops;        // "first:N", "all", "none"; NULL: the library's default
    uint64_t               max_size;       // 0: the default
    const char *           policy;         // "stop" or "ring", NULL: stop
    const char *           spool;          // NULL: the best place
    const char *           engine;         // NULL: the program's own
    const char *           name;           // of the run in tables; NULL for that of its directory
    const char *           group;          // of related runs; NULL for none
    bool                   prove;          // record the pages that ops touch
    const char *           values;         // of ops whose "OP:tensor" matches; "": all; NULL: none
    uint64_t               values_every;   // of every N-th graph only; 0: all
    const char *           values_dump;    // whole tensors of matching ops; NULL: none
    bool                   values_unfused; // devices: after every op, not after fused groups
    bool                   faults;         // page faults were requested by name
    bool                   no_faults;      // no page faults
    bool                   residency;      // snapshots of the model's pages in memory
    bool                   io;             // block requests
    bool                   cold;           // drop the model from the page cache first
    const char *           cold_model;     // this model, NULL: the command's
    struct ggs_memory_size memory;         // limit of the program; none: no limit
    bool                   paused;         // record nothing until a window is opened
    uint64_t               length_ns;      // of a window; 0 for no limit
    uint64_t               steps;          // of a window; 0 for no limit
    uint64_t               requests;       // of a window; 0 for no limit
    struct ggs_streaming   streaming;      // read weights ahead of use
    bool                   discard;        // leave no directory if the program fails without computing
    // Called at the end unless quiet; may be NULL.
    void (*summarise)(const char * directory, FILE * out);
    // Subject:
    const char * process; // a running one, by id or name; NULL: start the command
    char **      command; // NULL at the end
    const char * model;   // NULL: found in the command
};

bool ggs_set_cold(void * member, const char * text); // of --cold, for a struct ggs_recording

extern const struct ggs_option ggs_recording_options[], ggs_machine_options[];
// Returns what is wrong with the options together; NULL if they go together.
const char * ggs_recording_misuse(const struct ggs_recording * recording);

// Finds the model in the arguments of a llama.cpp program: -m FILE, --model FILE, --model=FILE.
// NULL for none.
const char * ggs_recording_find_model(char * const * command);

// Converts shares of the model to bytes: --memory 25%, --budget 25%. ggs_recording_make() does it
// too.
int ggs_recording_resolve(struct ggs_recording * recording, struct ggs_error * error);

// Returns the exit status of ggscope: that of the program if it was started (128 + signal if one
// ended it), or 1 if ggscope itself failed and the program did not. Prints messages to stderr.
// `directory`, of `size` bytes, gets the path of the experiment, "" for none; may be NULL.
int ggs_recording_make(const struct ggs_recording * recording, char * directory, size_t size);
