// A recording in progress, shared by recording.c (before and while the program runs) and
// recording-end.c (after its end).
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/locate.h"
#include "record/experiment.h"
#include "record/inspect/program.h"
#include "record/launch/attach.h"
#include "record/launch/child-environment.h"
#include "record/launch/children.h"
#include "record/memory/conditions.h"
#include "record/observation.h"
#include "record/recording.h"
#include "record/spool/place.h"

struct ggs_control;
struct ggs_mappings;
struct ggs_sealer;

struct ggs_recording_attempt {
    const struct ggs_recording * recording;
    struct ggs_program           program;
    char                         capture[PATH_MAX];
    struct ggs_engine_paths      engine;
    struct ggs_experiment_json   experiment;
    struct ggs_spool_place       place;
    struct ggs_child_environment environment;
    struct ggs_observation       observation;
    struct ggs_memory_conditions conditions;
    struct ggs_control *         control;
    struct ggs_sealer *          sealer;
    struct ggs_attach            attach;   // the process to attach to, if one is given
    char * const *               command;  // of the program
    int                          stop;     // eventfd: the window was closed; -1 unless attached
    struct ggs_mappings *        mappings; // of the program's memory
    struct ggs_children *        watched;  // programs started by the program
    struct ggs_children_found    started;  // of those: ran engines, unrecorded
    uint32_t                     children; // forked processes that computed, unrecorded
    bool                         misuse;   // the command line is at fault
    int                          files[2]; // stdout.txt, stderr.txt
};

static inline bool ggs_recording_is_attached(const struct ggs_recording_attempt * attempt) {
    return attempt->recording->process != NULL;
}

// Seals the recording of a program that has ended, and reports what could not be seen. Returns 0,
// or 1 if the recording is empty or could not be sealed.
struct ggs_launch_result;
int ggs_recording_finish(struct ggs_recording_attempt * attempt, const struct ggs_launch_result * launched);
