#include "record/observation.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "record/experiment.h"
#include "record/host.h"
#include "record/observe/disks.h"
#include "record/observe/observer.h"
#include "record/observe/process-numbers.h"

// Everything fails for the same reason.
static void give_up(struct ggs_observation * observation, const struct ggs_error * error) {
    if (observation->faults) observation->faults_error = *error;
    if (observation->io) observation->io_error = *error;
    ggs_observer_end(observation->observer);
    observation->observer = NULL;
}

struct opening {
    struct ggs_observation * observation;
    pid_t                    program;
    bool                     faults, io; // are open
};

static void open_events(void * context) {
    struct opening *         opening     = context;
    struct ggs_observation * observation = opening->observation;
    struct ggs_observer *    observer    = observation->observer;
    // Events of a running program are opened per thread: the first one has the process's number.
    pid_t number =
        observation->attached ? ggs_process_number_inside(opening->program, opening->program) : opening->program;
    opening->faults =
        observation->faults &&
        ggs_observer_faults(observer, number, !observation->paused, &observation->faults_error) == 0 &&
        (!observation->attached || ggs_observer_threads(observer, opening->program, &observation->faults_error) == 0);
    observation->switches = opening->faults && ggs_observer_has_switches(observer);
    opening->io           = observation->io && ggs_observer_requests(observer, &observation->io_error) == 0;
}

static void begin(struct ggs_observation * observation, pid_t program) {
    struct ggs_error error;
    struct opening   opening = {.observation = observation, .program = program};
    int              status  = ggs_machine_spool_open(&observation->spool, observation->folder, &error);
    observation->opened      = status == 0;
    if (status == 0)
        status = ggs_observer_new(&observation->observer, &observation->spool, observation->max_bytes, &error);
    if (status == 0 && !observation->attached) open_events(&opening);
    if (status == 0 && observation->attached && !ggs_process_numbers_with(program, open_events, &opening))
        status = ggs_fail(&error, GGS_UNSUPPORTED,
                          "the process has its own process numbers (a container), and using them takes root");
    if (status != 0) {
        give_up(observation, &error);
        return;
    }
    if (observation->paused) ggs_observer_pause(observation->observer, true);
    if ((opening.faults || opening.io) && ggs_observer_begin(observation->observer, &error) != 0)
        give_up(observation, &error);
}

void ggs_observation_start(void * context, pid_t program) {
    struct ggs_observation * observation = context;
    if (!observation->faults && !observation->io) return;
    begin(observation, program);
    if (observation->faults_asked && observation->faults_error.text[0] != '\0')
        fprintf(stderr, "ggscope: page faults are not recorded: %s\n", observation->faults_error.text);
    if (observation->io_error.text[0] != '\0')
        fprintf(stderr, "ggscope: block requests are not recorded: %s\n", observation->io_error.text);
}

void ggs_observation_pause(struct ggs_observation * observation, bool paused) {
    if (observation->observer != NULL) ggs_observer_pause(observation->observer, paused);
}

uint64_t ggs_observation_written_until(struct ggs_observation * observation) {
    if (observation->observer == NULL) return UINT64_MAX;
    uint64_t until = ggs_observer_complete_until(observation->observer);
    ggs_machine_spool_flush(&observation->spool);
    return until;
}

void ggs_observation_stop(struct ggs_observation * observation) {
    struct ggs_error error;
    ggs_observer_end(observation->observer);
    observation->observer = NULL;
    if (observation->opened && ggs_machine_spool_close(&observation->spool, &error) != 0)
        fprintf(stderr, "ggscope: %s\n", error.text);
    observation->opened = false;
}

static struct json_object * outcome(bool wanted, const struct ggs_error * error) {
    if (wanted && error->text[0] != '\0') return ggs_json_text(error->text);
    return json_object_new_boolean(wanted);
}

void ggs_observation_annotate(const struct ggs_observation * observation, struct ggs_experiment_json * experiment) {
    ggs_experiment_setting(experiment, "faults", outcome(observation->faults, &observation->faults_error));
    ggs_experiment_setting(experiment, "switches", json_object_new_boolean(observation->switches));
    ggs_experiment_setting(experiment, "io", outcome(observation->io, &observation->io_error));
}

void ggs_observation_check_files(const struct ggs_observation * observation, char * const * paths, size_t n_paths) {
    struct ggs_error error;
    if (!observation->io || observation->io_error.text[0] != '\0') return;
    for (size_t i = 0; i < n_paths; i++) {
        if (ggs_disks_check(paths[i], &error) == 0) continue;
        fprintf(stderr, "ggscope: %s\n", error.text);
        return; // the others are in the same folder
    }
}
