// Runs variants of a command several times, in an order that spreads them over the whole time, and
// evaluates their figures. The basis of `bench`, `sweep` and `tune`.
//
//     ggs_trials_new(&trials, &settings, error);
//     int a = ggs_trials_add(trials, &one, error), b = ggs_trials_add(trials, &other, error);
//     int again = ggs_trials_add(trials, &one_under_another_name, error);      // the control
//     while (rounds-- > 0 && (status = ggs_trials_round(trials, error)) == 0) ;
//     ratio = ggs_trials_ratio(trials, a, b, figure);
//
// A round tries every variant once (trials/order.h). A trial is a recording (`ggscope record` in a
// process of its own) or a timed run of the program alone. If other programs make the machine much
// busier than during most trials, the trial is repeated, at most twice; ggs_trials_load() has the
// counts.
//
// A terminating signal ends the current trial: ggs_trials_round() returns 1, and finished trials
// keep their figures.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/diff/figures.h"
#include "analyze/diff/sample.h"

struct ggs_error;
struct ggs_traffic;
struct ggs_trials;

enum { GGS_TRIAL_FIGURES = 32, GGS_TRIAL_SAID = 400 };

// The figures of a trial: those of analyze/diff/figures.h with the same numbers, then those of the
// machine (`of` is NULL). NULL beyond the last.
const struct ggs_figure * ggs_trial_figure(unsigned i);
unsigned                  ggs_trial_figure_count(void);
int                       ggs_trial_figure_find(const char * name); // -1: none

// Describes a trial. Strings and lists belong to the caller and outlive the trials.
struct ggs_variant {
    const char *         name;    // of its recordings: NAME-001, NAME-002, ...
    const char *         title;   // of the recording (--name); NULL: none
    const char *         group;   // of the recording (--group)
    const char * const * options; // of ggscope record, NULL at the end; NULL: none
    const char * const * program; // NULL at the end
    bool                 warm_up; // run it once before its first round, uncounted
    bool                 timed;   // run the program without recording: wall_ns is its only figure
    const char *         model;   // for `cold`; NULL: the value of the program's -m
    uint64_t             memory;  // limit in bytes; 0: none
    bool                 cold;    // drop the model from the page cache first
    bool                 warm;    // read the model into the page cache first; not with `memory`
    // Requests for a server, which is ended afterwards. NULL: the program ends by itself.
    const struct ggs_traffic * traffic;
    unsigned                   port;   // of the server
    const void *               caller; // for the caller
};

enum ggs_trial_outcome {
    GGS_TRIAL_DONE,
    GGS_TRIAL_FAILED,   // the program exited with a status other than 0
    GGS_TRIAL_LIMIT,    // the kernel killed it: its limit is too low
    GGS_TRIAL_OUTCOMES, // number of outcomes
};
extern const char * const ggs_trial_outcome_words[GGS_TRIAL_OUTCOMES]; // "done", ...

struct ggs_trial {
    unsigned               variant, round;
    enum ggs_trial_outcome outcome;
    int                    status;                    // of the program; 128 + signal
    double                 others;                    // CPU share of others; negative: unknown
    bool                   busy;                      // busier than usual, even when repeated
    double                 seconds;                   // duration of the trial with its recording
    double                 values[GGS_TRIAL_FIGURES]; // NaN: not seen
    char                   said[GGS_TRIAL_SAID];      // first line of its stderr if it failed
};

struct ggs_trials_settings {
    const char * folder;    // for recordings
    bool         keep;      // keeps recordings; else each is removed once its figures are read
    bool         tolerates; // a failing program is a result; else it is an error
    uint64_t     seed;      // of the order
    // Called before and after each trial, for settings of the machine, progress and a journal.
    // `after` may add variants, which join the next round. Negative: fails; positive from `after`:
    // ends the round.
    int (*before)(void * context, const struct ggs_variant * variant, struct ggs_error * error);
    // Called for a successful trial with its recording, which is removed afterwards unless it is
    // kept.
    int (*recorded)(void * context, const struct ggs_trial * trial, const char * directory, struct ggs_error * error);
    int (*after)(void * context, const struct ggs_trial * trial, struct ggs_error * error);
    void * context;
};

// Blocks terminating signals until ggs_trials_free().
int  ggs_trials_new(struct ggs_trials ** trials, const struct ggs_trials_settings * settings, struct ggs_error * error);
void ggs_trials_free(struct ggs_trials * trials); // NULL is allowed

// Returns its number, or a negative status.
int ggs_trials_add(struct ggs_trials * trials, const struct ggs_variant * variant, struct ggs_error * error);
// Stops trying the variant; its figures stay. Resuming makes it part of the next round again.
void ggs_trials_retire(struct ggs_trials * trials, unsigned variant);
void ggs_trials_resume(struct ggs_trials * trials, unsigned variant);
// Adds a finished trial from a journal, which is not repeated.
int ggs_trials_add_finished(struct ggs_trials * trials, const struct ggs_trial * trial, struct ggs_error * error);

// Runs one more round. 0: complete; 1: ended by a signal or `after`.
int ggs_trials_round(struct ggs_trials * trials, struct ggs_error * error);
// Returns the signal that came, 0 for none.
int ggs_trials_stopped(const struct ggs_trials * trials);

// ---- results, available at any time ----

const struct ggs_trial * ggs_trials_list(const struct ggs_trials * trials, unsigned * n);

// Reads a figure's values of successful trials by round; returns their number. `values` has room
// for `most`.
unsigned ggs_trials_values(const struct ggs_trials * trials, unsigned variant, unsigned figure, double * values,
                           unsigned most);
// B's median divided by A's, over rounds in which both succeeded.
struct ggs_ratio ggs_trials_ratio(const struct ggs_trials * trials, unsigned a, unsigned b, unsigned figure);
double           ggs_trials_median(const struct ggs_trials * trials, unsigned variant, unsigned figure);

// True if further rounds would hardly change whether A and B differ in this figure. After five
// rounds, the 99 % interval of B/A excludes 1 and lies beyond the control's, or lies within 1 +-
// `same`. The interval is wider than that of a result because it is evaluated after each round.
bool ggs_trials_decided(const struct ggs_trials * trials, unsigned a, unsigned b, unsigned control, unsigned figure,
                        double same);

// Other load: repeated trials, and those that stayed busy.
struct ggs_trials_load {
    unsigned repeated, busy;
    double   most; // maximum share of the CPUs used by others in counted trials
};
struct ggs_trials_load ggs_trials_load(const struct ggs_trials * trials);
