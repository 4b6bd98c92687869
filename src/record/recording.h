// Makes a recording: checks everything first, starts the program with the capture library in it or
// attaches to one that runs, seals what it left. What `ggscope record`, `ggscope run` and `ggscope
// attach` have in common, their options included.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/options/options.h"
#include "record/launch/streaming.h"
#include "record/memory/memory-size.h"

struct ggs_error;

struct ggs_recording {
    // options
    const char *           output; // directory, NULL: <parent>/<date-time>-<model>
    const char *           parent; // NULL: "experiments"
    bool                   force;
    bool                   follow;
    bool                   quiet;
    const char *           gpu_ops;        // "first:N", "all" or "none", NULL: the capture library's default
    uint64_t               max_size;       // 0: the default
    const char *           policy;         // "stop" or "ring", NULL: stop
    const char *           spool;          // NULL: the best place
    const char *           engine;         // NULL: the program's own
    const char *           name;           // of the run in tables; NULL: that of its directory
    const char *           group;          // of runs that belong together; NULL: none
    bool                   prove;          // page truth: which pages ops really touch
    const char *           values;         // values of ops whose "OP:tensor" matches this, "": of all; NULL: of none
    uint64_t               values_every;   // only of every so-many-th graph; 0: of all
    const char *           values_dump;    // whole tensors of ops that match; NULL: of none
    bool                   values_unfused; // devices: after every op, not after groups that are fused
    bool                   faults;         // page faults were asked for by name
    bool                   no_faults;      // leave out page faults
    bool                   residency;      // which pages of the model are in memory, again and again
    bool                   io;             // block requests
    bool                   cold;           // drop the model from the page cache first
    const char *           cold_model;     // this one, NULL: the command's
    struct ggs_memory_size memory;         // that the program may use; none: no limit
    bool                   paused;         // record nothing until told to
    uint64_t               length_ns;      // of a window; 0: it ends when told to
    uint64_t               steps;          // of a window; likewise
    uint64_t               requests;       // of a window; likewise
    struct ggs_streaming   streaming;      // weights are read ahead of use
    bool                   discard; // if the program fails and computed nothing, it has said why: leave no directory
    void (*summarise)(const char * directory, FILE * out); // called at the end unless quiet; NULL: no summary
    // what is recorded
    const char * process; // one that runs, by number or name; NULL: the command is started
    char **      command; // NULL at the end
    const char * model;   // NULL: looked for in the command
};

bool ggs_set_cold(void * member, const char * text); // of --cold, for a struct ggs_recording

extern const struct ggs_option ggs_recording_options[], ggs_machine_options[]; // of the members above

// The model among the arguments of a llama.cpp program: -m FILE, --model FILE, --model=FILE. NULL:
// none.
const char * ggs_recording_find_model(char * const * command);

// Makes bytes of what was given as a share of the model: --memory 25%, --budget 25%. Done by
// ggs_recording_make() too.
int ggs_recording_resolve(struct ggs_recording * recording, struct ggs_error * error);

// Returns the exit status of ggscope: that of the program if it was started (128 + signal if one
// ended it), or 1 if ggscope itself has to report a failure and the program has none. Prints what
// the user needs to know to stderr. `directory`, of `size` bytes, gets where the experiment is, ""
// if there is none; may be NULL.
int ggs_recording_make(const struct ggs_recording * recording, char * directory, size_t size);
