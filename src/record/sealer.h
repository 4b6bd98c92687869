// Drives sealing (trace/seal) from outside: while a program is recorded, when it has ended, and of
// recordings that were left unsealed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/seal/seal.h"

struct ggs_control;
struct ggs_error;
struct ggs_experiment_json;
struct ggs_observation;
struct ggs_sealer;
struct ggs_spool_facts;

// ---- while the program runs ----

struct ggs_sealer_settings {
    const char *             folder;      // of the spool
    const char *             directory;   // of the experiment
    uint64_t                 start_ns;    // CLOCK_MONOTONIC
    bool                     follow;      // there may be more below the directory
    struct ggs_observation * observation; // outlives the sealer, as does the next
    struct ggs_control *     control;     // is told of the room that there is again
};

// A thread at idle priority that seals the recording, and those of programs that are followed
// (trace/seal/incremental.h). If the machine has no time for that it falls behind, and the rest is
// done at the end. NULL if it could not be started: then everything is done at the end.
struct ggs_sealer * ggs_sealer_start(const struct ggs_sealer_settings * settings);
// NULL is fine.
void ggs_sealer_stop(struct ggs_sealer * sealer);

// ---- afterwards ----

// Gets what the journal says about the program, after the first pass over it: completes
// experiment.json, of which the trace holds a copy. Anything but 0 ends the sealing, and nothing is
// written.
typedef int (*ggs_facts_function)(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error);

// Turns the spool into trace.ggs, with a progress bar on a terminal. `facts` may be NULL:
// experiment.json is complete already.
int ggs_sealer_finish(const struct ggs_experiment_json * experiment, bool quiet, ggs_facts_function facts,
                      void * context, struct ggs_seal_result * result, struct ggs_error * error);

// For every verb that opens an experiment: seals it first if that has not been done, because its
// ggscope was killed or the program was started without one. `result->already`: there was nothing
// to do. A recording that goes on is an error (GGS_USAGE), and so is a directory that is no
// experiment (GGS_ABSENT). `result` may be NULL.
int ggs_sealer_recover(const char * directory, bool quiet, struct ggs_seal_result * result, struct ggs_error * error);

// The same for the recordings of followed programs, in DIR/process-N. Prints what it could not
// seal.
void ggs_sealer_recover_followed(const char * directory, bool quiet);
