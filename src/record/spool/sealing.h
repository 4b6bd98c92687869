// Sealing an experiment, for the verbs that record and for those that find one unsealed.
#pragma once

#include <stdbool.h>

#include "trace/seal/seal.h"

struct ggs_error;
struct ggs_experiment_json;
struct ggs_spool_facts;

// Gets what the journal says about the program, after the first pass over it: completes experiment.json, of which the trace holds a
// copy. Anything but 0 ends the sealing, and nothing is written.
typedef int (*ggs_facts_function)(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error);

// Turns the spool into trace.ggs, with a progress bar on a terminal. `facts` may be NULL: experiment.json is complete already.
int ggs_seal_experiment(const struct ggs_experiment_json * experiment, bool quiet, ggs_facts_function facts,
                        void * context, struct ggs_seal_result * result, struct ggs_error * error);

// For every verb that opens an experiment: seals it first if that has not been done, because its ggscope was killed or
// the program was started without one. `result->already`: there was nothing to do. A recording that goes on is an error
// (GGS_USAGE), and so is a directory that is no experiment (GGS_ABSENT). `result` may be NULL.
int ggs_seal_recover(const char * directory, bool quiet, struct ggs_seal_result * result, struct ggs_error * error);

// Programs that a followed program started recorded into DIR/process-N: seals those too. Says what it could not.
void ggs_seal_followed(const char * directory, bool quiet);
