// Runs the unfinished trials of a study.
#pragma once

#include <limits.h>

#include "trials/device.h"
#include "trials/journal.h"
#include "trials/study.h"
#include "trials/trials.h"

struct ggs_error;

struct ggs_sweep {
    const struct ggs_study *   study;
    struct ggs_trials *        trials;
    struct ggs_study_variant * variants; // study->n_variants, and the first once more: the control
    struct ggs_journal         journal;
    struct ggs_device_settings devices;
    int                        lock; // of the study's directory
    char                       runs[PATH_MAX + 8];
    unsigned                   done, failed; // trials, including those of earlier sweeps
    unsigned                   recovered;    // devices whose readahead was left by a killed sweep
    void (*progress)(void * context, const struct ggs_sweep * sweep); // after each trial, or NULL
    void * context;
};

unsigned ggs_sweep_planned(const struct ggs_study * study); // trials, including the control's

// Opens an existing study with its finished trials. `read_only`: to read them while another process
// may be running more. `sweep` is zeroed except for its callback.
int  ggs_sweep_open(struct ggs_sweep * sweep, const struct ggs_study * study, bool read_only, struct ggs_error * error);
void ggs_sweep_close(struct ggs_sweep * sweep); // also after a failure; restores settings

// Runs the rest. 0: all trials have ended; 1: a signal came.
int ggs_sweep_run(struct ggs_sweep * sweep, struct ggs_error * error);
