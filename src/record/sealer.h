// Drives sealing (trace/seal) from outside: during a recording, after its end, and for recordings
// that were left unsealed.
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
    bool                     follow;      // look for more below the directory
    struct ggs_observation * observation; // outlives the sealer, like the next
    struct ggs_control *     control;     // gets the freed bytes
};

// Starts a thread at idle priority that seals the recording and those of followed programs
// (trace/seal/incremental.h). On a busy machine it falls behind, and the rest is done at the end.
// NULL if it could not be started: everything is done at the end.
struct ggs_sealer * ggs_sealer_start(const struct ggs_sealer_settings * settings);
// NULL is allowed.
void ggs_sealer_stop(struct ggs_sealer * sealer);

// ---- afterwards ----

// Gets the facts of the journal after the first pass: completes experiment.json, of which the trace
// has a copy. A result other than 0 ends the sealing, and nothing is written.
typedef int (*ggs_facts_function)(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error);

// Turns the spool into trace.ggs, with a progress bar on a terminal. `facts` is NULL if
// experiment.json is complete.
int ggs_sealer_finish(const struct ggs_experiment_json * experiment, bool quiet, ggs_facts_function facts,
                      void * context, struct ggs_seal_result * result, struct ggs_error * error);

// For every verb that opens an experiment: seals it first if necessary, because its ggscope was
// killed or the program was started without one. `result->already`: there was nothing to do.
// Returns GGS_USAGE for a live recording, GGS_ABSENT for a directory that is no experiment.
// `result` may be NULL.
int ggs_sealer_recover(const char * directory, bool quiet, struct ggs_seal_result * result, struct ggs_error * error);

// The same for the recordings of followed programs, in DIR/process-N. Prints failures.
void ggs_sealer_recover_followed(const char * directory, bool quiet);
