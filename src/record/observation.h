// Observations from outside while a program is recorded: page faults, and block requests on
// request.
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
    bool                     paused;       // at the start
    bool                     attached;     // the program was running before
    bool                     faults_asked; // requested by name: failures are reported
    bool                     switches;     // context switches are observed
    const char *             folder;       // of the spool
    uint64_t                 max_bytes;
    struct ggs_machine_spool spool;
    bool                     opened;
    struct ggs_observer *    observer;               // NULL if nothing is observed
    struct ggs_error         faults_error, io_error; // the reason, "" if it works or is not wanted
};

// For ggs_launch: the context is a struct ggs_observation. Reports in one line a request that
// fails; the program is recorded all the same.
void ggs_observation_start(void * observation, pid_t program);
// Pauses and resumes observing.
void ggs_observation_pause(struct ggs_observation * observation, bool paused);
// Everything that began before this time (CLOCK_MONOTONIC) is in the spool's file. For another
// thread, between start and stop.
uint64_t ggs_observation_written_until(struct ggs_observation * observation);
// Call it once the program has ended. The spool is complete after that.
void ggs_observation_stop(struct ggs_observation * observation);
// Records in experiment.json what was observed: true, false, or the reason for a failure.
void ggs_observation_annotate(const struct ggs_observation * observation, struct ggs_experiment_json * experiment);
// Reports model files whose requests cannot be found, and why.
void ggs_observation_check_files(const struct ggs_observation * observation, char * const * paths, size_t n_paths);
