#include "trials/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/file.h"
#include "base/system/lock.h"

// The first trials detect a program that never works.
enum { FIRST_TRIALS = 3, LOCK_TRIES = 20 };

unsigned ggs_sweep_planned(const struct ggs_study * study) {
    return (study->n_variants + 1) * (unsigned) study->repeat;
}

static int before_trial(void * context, const struct ggs_variant * variant, struct ggs_error * error) {
    struct ggs_sweep *               sweep = context;
    const struct ggs_study_variant * mine  = variant->caller;
    int status = mine->model == NULL ? 0 : ggs_device_readahead(&sweep->devices, mine->model, mine->readahead, error);
    return status == 0 && mine->drop_caches ? ggs_device_drop_caches(error) : status;
}

static int after_trial(void * context, const struct ggs_trial * trial, struct ggs_error * error) {
    struct ggs_sweep * sweep = context;
    char               run[64];
    sweep->failed += trial->outcome == GGS_TRIAL_FAILED;
    if (sweep->failed == FIRST_TRIALS && sweep->done == FIRST_TRIALS - 1) {
        ggs_journal_clear(&sweep->journal); // the next plan may differ
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "the first %d runs failed, the last with status %d: %s; nothing more is tried", FIRST_TRIALS,
                        trial->status, trial->said[0] == '\0' ? "it said nothing" : trial->said);
    }
    snprintf(run, sizeof(run), "runs/%s-%03u", sweep->variants[trial->variant].name, trial->round + 1);
    int status = ggs_journal_add(&sweep->journal, trial, run, error);
    sweep->done++;
    if (status == 0 && sweep->progress != NULL) sweep->progress(sweep->context, sweep);
    return status;
}

static int add_variant(struct ggs_sweep * sweep, unsigned i, struct ggs_error * error) {
    bool                       control = i == sweep->study->n_variants;
    struct ggs_study_variant * variant = &sweep->variants[i];
    int                        status  = ggs_study_variant_make(sweep->study, control ? 0 : i, variant, error);
    if (status != 0) return status;
    if (control) snprintf(variant->name, sizeof(variant->name), "control");
    const struct ggs_variant trial = {.name    = variant->name,
                                      .title   = variant->title,
                                      .group   = ggs_file_name(sweep->study->directory),
                                      .options = (const char * const *) variant->options,
                                      .program = (const char * const *) variant->program,
                                      .model   = variant->model,
                                      .memory  = variant->memory,
                                      .cold    = variant->cold,
                                      .warm    = variant->warm && variant->memory == 0,
                                      .caller  = variant};
    status                         = ggs_trials_add(sweep->trials, &trial, error);
    return status < 0 ? status : 0;
}

// A sweep that was just killed may still be ending.
static int acquire_lock(struct ggs_sweep * sweep, struct ggs_error * error) {
    const struct timespec moment = {.tv_nsec = 100000000};
    for (int i = 0; i < LOCK_TRIES; i++) {
        sweep->lock = ggs_lock_acquire(sweep->study->directory);
        if (sweep->lock >= 0) return 0;
        if (errno != EWOULDBLOCK) return ggs_fail_errno(error, "cannot lock %s", sweep->study->directory);
        nanosleep(&moment, NULL);
    }
    return ggs_fail(error, GGS_UNSUPPORTED, "another ggscope sweep works on %s: wait for its end",
                    sweep->study->directory);
}

int ggs_sweep_open(struct ggs_sweep * sweep, const struct ggs_study * study, bool read_only, struct ggs_error * error) {
    sweep->study      = study;
    sweep->lock       = -1;
    sweep->journal.fd = -1;
    snprintf(sweep->runs, sizeof(sweep->runs), "%s/runs", study->directory);
    struct ggs_trials_settings settings = {.folder    = sweep->runs,
                                           .keep      = true,
                                           .tolerates = true,
                                           .seed      = study->seed,
                                           .before    = before_trial,
                                           .after     = after_trial,
                                           .context   = sweep};
    int                        status   = read_only ? 0 : acquire_lock(sweep, error);
    if (status == 0) status = ggs_trials_new(&sweep->trials, &settings, error);
    if (status == 0 && (sweep->variants = calloc(study->n_variants + 1, sizeof(*sweep->variants))) == NULL)
        status = ggs_fail_memory(error);
    for (unsigned i = 0; status == 0 && i <= study->n_variants; i++) status = add_variant(sweep, i, error);
    if (status == 0)
        status = ggs_journal_open(&sweep->journal, study->directory, sweep->trials, study->n_variants + 1,
                                  (unsigned) study->repeat, read_only, error);
    if (status != 0) return status;
    const struct ggs_trial * list = ggs_trials_list(sweep->trials, &sweep->done);
    for (unsigned i = 0; i < sweep->done; i++) sweep->failed += list[i].outcome == GGS_TRIAL_FAILED;
    return 0;
}

void ggs_sweep_close(struct ggs_sweep * sweep) {
    ggs_device_restore(&sweep->devices);
    ggs_journal_close(&sweep->journal);
    for (unsigned i = 0; sweep->variants != NULL && i <= sweep->study->n_variants; i++)
        ggs_study_variant_release(&sweep->variants[i]);
    free(sweep->variants);
    sweep->variants = NULL;
    ggs_trials_free(sweep->trials);
    sweep->trials = NULL;
    ggs_lock_release(&sweep->lock);
}

int ggs_sweep_run(struct ggs_sweep * sweep, struct ggs_error * error) {
    int status       = ggs_device_recover(error);
    sweep->recovered = status > 0 ? (unsigned) status : 0;
    if (status > 0) status = 0;
    for (uint64_t round = 0; round < sweep->study->repeat && status == 0; round++)
        status = ggs_trials_round(sweep->trials, error);
    ggs_device_restore(&sweep->devices);
    return status;
}
