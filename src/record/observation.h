// What is observed of a program from outside while it is recorded: page faults, and block requests
// if asked for.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/observe/machine-spool.h"

struct ggs_experiment_json;
struct ggs_observer;

struct ggs_observation {
    bool                     faults, io;   // wanted
    bool                     paused;       // at first
    bool                     attached;     // the program runs already
    bool                     faults_asked; // by name: say so if it does not work
    bool                     switches;     // context switches are observed, too
    const char *             folder;       // of the spool
    uint64_t                 max_bytes;
    struct ggs_machine_spool spool;
    bool                     opened;
    struct ggs_observer *    observer;               // NULL: nothing is observed
    struct ggs_error         faults_error, io_error; // why not; "" if it works or is not wanted
};

// For ggs_launch: the context is a struct ggs_observation. Says in one line what was asked for and
// does not work; the program is recorded all the same.
void ggs_observation_start(void * observation, pid_t program);
// Pauses and resumes observing.
void ggs_observation_pause(struct ggs_observation * observation, bool paused);
// All that began before this (CLOCK_MONOTONIC) is in the spool's file. For another thread, between
// start and stop.
uint64_t ggs_observation_written_until(struct ggs_observation * observation);
// Once the program has ended. The spool has everything then.
void ggs_observation_stop(struct ggs_observation * observation);
// Notes in experiment.json what was observed: true, false, or the reason why it was not.
void ggs_observation_annotate(const struct ggs_observation * observation, struct ggs_experiment_json * experiment);
// Says of which of the model's files requests will not be found, and why.
void ggs_observation_check_files(const struct ggs_observation * observation, char * const * paths, size_t n_paths);
