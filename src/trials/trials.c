#include "trials/trials.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/system/lock.h"
#include "trials/attempt.h"
#include "trials/order.h"

enum { MOST_REPEATS = 2, MOST_MOMENTS = 3000, ENOUGH_SHARES = 3, LEAST_TO_DECIDE = 5, MOST_VALUES = 1000 };
static const double BUSY = 0.10; // share of the CPUs: less than this does not count as other load

struct entry {
    struct ggs_variant variant;
    bool               warm, retired;
};

struct ggs_trials {
    struct ggs_trials_settings settings;
    struct ggs_halt            halt;
    struct entry *             entries;
    unsigned                   n_entries, entries_capacity;
    struct ggs_trial *         list;
    unsigned                   n_list, list_capacity;
    unsigned                   rounds, repeated;
    int                        log; // output of programs, a file without a name
};

int ggs_trials_new(struct ggs_trials ** out, const struct ggs_trials_settings * settings, struct ggs_error * error) {
    struct ggs_trials * trials = calloc(1, sizeof(*trials));
    *out                       = NULL;
    if (trials == NULL) return ggs_fail_memory(error);
    trials->settings = *settings;
    trials->log      = memfd_create("ggscope-trials", MFD_CLOEXEC);
    if (trials->log < 0) {
        free(trials);
        return ggs_fail_errno(error, "cannot make a file in memory");
    }
    ggs_halt_begin(&trials->halt);
    *out = trials;
    return 0;
}

void ggs_trials_free(struct ggs_trials * trials) {
    if (trials == NULL) return;
    ggs_halt_end(&trials->halt);
    close(trials->log);
    free(trials->entries);
    free(trials->list);
    free(trials);
}

int ggs_trials_add(struct ggs_trials * trials, const struct ggs_variant * variant, struct ggs_error * error) {
    struct entry entry = {.variant = *variant};
    if (!ggs_array_push(trials->entries, trials->n_entries, trials->entries_capacity, entry))
        return ggs_fail_memory(error);
    return (int) trials->n_entries - 1;
}

void ggs_trials_retire(struct ggs_trials * trials, unsigned variant) {
    trials->entries[variant].retired = true;
}

void ggs_trials_resume(struct ggs_trials * trials, unsigned variant) {
    trials->entries[variant].retired = false;
}

int ggs_trials_add_finished(struct ggs_trials * trials, const struct ggs_trial * trial, struct ggs_error * error) {
    if (!ggs_array_push(trials->list, trials->n_list, trials->list_capacity, *trial)) return ggs_fail_memory(error);
    return 0;
}

int ggs_trials_stopped(const struct ggs_trials * trials) {
    return trials->halt.stopped;
}

const struct ggs_trial * ggs_trials_list(const struct ggs_trials * trials, unsigned * n) {
    *n = trials->n_list;
    return trials->list;
}

// ---- other load ----

static bool is_busy(const struct ggs_trials * trials, double share) {
    double   shares[MOST_VALUES];
    unsigned n = 0;
    for (unsigned i = 0; i < trials->n_list && n < MOST_VALUES; i++) {
        if (trials->list[i].others >= 0) shares[n++] = trials->list[i].others;
    }
    if (n < ENOUGH_SHARES || share < 0) return false;
    return share > BUSY && share > 2 * ggs_sample_median(shares, n);
}

struct ggs_trials_load ggs_trials_load(const struct ggs_trials * trials) {
    struct ggs_trials_load load = {.repeated = trials->repeated};
    for (unsigned i = 0; i < trials->n_list; i++) {
        load.busy += trials->list[i].busy;
        if (trials->list[i].others > load.most) load.most = trials->list[i].others;
    }
    return load;
}

// ---- one trial ----

static int fail_by(const struct ggs_trial * trial, struct ggs_error * error) {
    return ggs_fail(error, GGS_UNSUPPORTED, "a run of the program failed with status %d: %s", trial->status,
                    trial->said[0] == '\0' ? "it said nothing" : trial->said);
}

// Removes the remains of an interrupted trial. Its recording may still be ending, because it ends
// with its parent, but with a delay.
static int clear_away(struct ggs_trials * trials, const char * directory, struct ggs_error * error) {
    const struct timespec moment = {.tv_nsec = 20000000};
    for (int i = 0; ggs_lock_is_held(directory); i++) {
        if (ggs_halt_stopped(&trials->halt) != 0) return ggs_fail(error, GGS_UNSUPPORTED, "interrupted");
        if (i == MOST_MOMENTS) return ggs_fail(error, GGS_UNSUPPORTED, "%s is still being recorded", directory);
        nanosleep(&moment, NULL);
    }
    ggs_attempt_remove(directory);
    return 0;
}

// Round -1 warms up: it fills the page cache and shows whether anything is recorded.
static int attempt(struct ggs_trials * trials, unsigned at, int round, struct ggs_trial * trial,
                   struct ggs_error * error) {
    const struct ggs_variant * variant = &trials->entries[at].variant;
    char                       directory[PATH_MAX];
    *trial = (struct ggs_trial){.variant = at, .round = round < 0 ? 0 : (unsigned) round};
    if (snprintf(directory, sizeof(directory), "%s/%s-%03d", trials->settings.folder, variant->name, round + 1) >=
        (int) sizeof(directory))
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", trials->settings.folder);
    int status =
        trials->settings.before == NULL ? 0 : trials->settings.before(trials->settings.context, variant, error);
    if (status == 0) status = clear_away(trials, directory, error);
    if (status == 0 && (ftruncate(trials->log, 0) != 0 || lseek(trials->log, 0, SEEK_SET) != 0))
        status = ggs_fail_errno(error, "cannot empty a file in memory");
    if (status == 0) status = ggs_attempt(&trials->halt, variant, directory, trials->log, trial, error);
    if (status == 0 && trial->outcome != GGS_TRIAL_DONE && !trials->settings.tolerates) status = fail_by(trial, error);
    bool is_there = status == 0 && round >= 0 && trial->outcome == GGS_TRIAL_DONE && !variant->timed;
    if (is_there && trials->settings.recorded != NULL)
        status = trials->settings.recorded(trials->settings.context, trial, directory, error);
    if (status != 0 || round < 0 || !trials->settings.keep) ggs_attempt_remove(directory);
    return status;
}

static int attempt_in_quiet(struct ggs_trials * trials, unsigned at, unsigned round, struct ggs_error * error) {
    struct ggs_trial trial;
    int              status = 0;
    for (unsigned i = 0; status == 0; i++) {
        status = attempt(trials, at, (int) round, &trial, error);
        if (status != 0 || !is_busy(trials, trial.others)) break;
        trial.busy = i == MOST_REPEATS;
        if (trial.busy) break;
        trials->repeated++;
    }
    if (status == 0) status = ggs_trials_add_finished(trials, &trial, error);
    if (status == 0 && trials->settings.after != NULL)
        status = trials->settings.after(trials->settings.context, &trial, error);
    return status;
}

static int warm_up(struct ggs_trials * trials, struct ggs_error * error) {
    struct ggs_trial trial;
    int              status = 0;
    for (unsigned i = 0; i < trials->n_entries && status == 0; i++) {
        struct entry * entry = &trials->entries[i];
        if (entry->warm || entry->retired || !entry->variant.warm_up) continue;
        entry->warm = true;
        status      = attempt(trials, i, -1, &trial, error);
    }
    return status;
}

static bool is_known(const struct ggs_trials * trials, unsigned variant, unsigned round) {
    for (unsigned i = 0; i < trials->n_list; i++) {
        if (trials->list[i].variant == variant && trials->list[i].round == round) return true;
    }
    return false;
}

int ggs_trials_round(struct ggs_trials * trials, struct ggs_error * error) {
    unsigned n = trials->n_entries, *order = calloc(n + 1, sizeof(*order));
    int      status = 0;
    if (order == NULL) return ggs_fail_memory(error);
    status = warm_up(trials, error);
    ggs_order_of_round(order, n, trials->rounds, trials->settings.seed);
    for (unsigned i = 0; i < n && status == 0; i++) {
        if (trials->entries[order[i]].retired || is_known(trials, order[i], trials->rounds)) continue;
        status = attempt_in_quiet(trials, order[i], trials->rounds, error);
    }
    free(order);
    if (ggs_halt_stopped(&trials->halt) != 0) return 1;
    if (status == 0) trials->rounds++;
    return status;
}

// ---- results ----

static const struct ggs_trial * trial_of(const struct ggs_trials * trials, unsigned variant, unsigned round) {
    for (unsigned i = 0; i < trials->n_list; i++) {
        const struct ggs_trial * trial = &trials->list[i];
        if (trial->variant == variant && trial->round == round && trial->outcome == GGS_TRIAL_DONE) return trial;
    }
    return NULL;
}

// Includes an interrupted round.
static unsigned rounds_begun(const struct ggs_trials * trials) {
    unsigned rounds = trials->rounds;
    for (unsigned i = 0; i < trials->n_list; i++) {
        if (trials->list[i].round >= rounds) rounds = trials->list[i].round + 1;
    }
    return rounds;
}

unsigned ggs_trials_values(const struct ggs_trials * trials, unsigned variant, unsigned figure, double * values,
                           unsigned most) {
    unsigned n = 0, rounds = rounds_begun(trials);
    for (unsigned round = 0; round < rounds && n < most; round++) {
        const struct ggs_trial * trial = trial_of(trials, variant, round);
        if (trial != NULL) values[n++] = trial->values[figure];
    }
    return n;
}

double ggs_trials_median(const struct ggs_trials * trials, unsigned variant, unsigned figure) {
    double values[MOST_VALUES];
    return ggs_sample_median(values, ggs_trials_values(trials, variant, figure, values, MOST_VALUES));
}

static unsigned pairs_of(const struct ggs_trials * trials, unsigned a, unsigned b, unsigned figure,
                         double x[MOST_VALUES], double y[MOST_VALUES]) {
    unsigned n = 0, rounds = rounds_begun(trials);
    for (unsigned round = 0; round < rounds && n < MOST_VALUES; round++) {
        const struct ggs_trial *one = trial_of(trials, a, round), *other = trial_of(trials, b, round);
        if (one == NULL || other == NULL) continue;
        x[n]   = one->values[figure];
        y[n++] = other->values[figure];
    }
    return n;
}

struct ggs_ratio ggs_trials_ratio(const struct ggs_trials * trials, unsigned a, unsigned b, unsigned figure) {
    double   x[MOST_VALUES], y[MOST_VALUES];
    unsigned n = pairs_of(trials, a, b, figure, x, y);
    return ggs_sample_ratio(x, y, n);
}

bool ggs_trials_decided(const struct ggs_trials * trials, unsigned a, unsigned b, unsigned control, unsigned figure,
                        double same) {
    double           x[MOST_VALUES], y[MOST_VALUES];
    unsigned         n     = pairs_of(trials, a, b, figure, x, y);
    struct ggs_ratio wide  = ggs_sample_ratio_within(x, y, n, 0.99),
                     noise = ggs_trials_ratio(trials, a, control, figure);
    if (n < LEAST_TO_DECIDE || isnan(wide.value)) return false;
    return ggs_ratio_differs(&wide, &noise) || (wide.low >= 1 - same && wide.high <= 1 + same);
}
