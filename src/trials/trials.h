// Trials: variants of a command, each run several times in an order that spreads them over the
// whole time, and what their figures come to. `bench`, `sweep` and `tune` stand on this.
//
//     ggs_trials_new(&trials, &settings, error);
//     int a = ggs_trials_add(trials, &one, error), b = ggs_trials_add(trials, &other, error);
//     int again = ggs_trials_add(trials, &one_under_another_name, error);      // the control
//     while (rounds-- > 0 && (status = ggs_trials_round(trials, error)) == 0) ;
//     ratio = ggs_trials_ratio(trials, a, b, figure);
//
// A round tries every variant once (trials/order.h). A trial is a recording (`ggscope record` in a
// process of its own) or a timed run of the program alone. If other programs keep the machine much
// busier than during most trials, the trial is repeated at once, at most twice; how often that was,
// is told by ggs_trials_load().
//
// A signal that ends programs ends the trial under way: ggs_trials_round() returns 1, and all
// trials that ended before keep their figures.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/diff/figures.h"
#include "analyze/diff/sample.h"

struct ggs_error;
struct ggs_traffic;
struct ggs_trials;

enum { GGS_TRIAL_FIGURES = 32, GGS_TRIAL_SAID = 400 };

// The figures of a trial: those of analyze/diff/figures.h first, with the same numbers, then what
// the machine did (`of` is NULL there). NULL behind the last.
const struct ggs_figure * ggs_trial_figure(unsigned i);
unsigned                  ggs_trial_figure_count(void);
int                       ggs_trial_figure_find(const char * name); // -1: there is none

// What a trial is made of. Texts and lists are the caller's and outlive the trials.
struct ggs_variant {
    const char *         name;    // names its recordings: NAME-001, NAME-002, ...
    const char *         title;   // the recording's --name; NULL: none
    const char *         group;   // and its --group
    const char * const * options; // of ggscope record, NULL at the end; NULL: none
    const char * const * program; // NULL at the end
    bool                 warm_up; // run it once before its first round; that is not counted
    bool                 timed;   // run the program alone: wall_ns is its only figure
    const char *         model;   // that `cold` is about; NULL: what the program names with -m
    uint64_t             memory;  // bytes that the program may use; 0: no limit
    bool                 cold;    // drop the model from the page cache before
    bool                 warm;    // read the model into the page cache before; not with `memory`
    const struct ggs_traffic *
                 traffic; // requests that a server gets before it is ended; NULL: the program ends by itself
    unsigned     port;    // that the server listens at
    const void * caller;  // the caller's own
};

enum ggs_trial_outcome {
    GGS_TRIAL_DONE,
    GGS_TRIAL_FAILED,   // the program ended with a status that is not 0
    GGS_TRIAL_LIMIT,    // the kernel ended it: it needs more memory than its limit
    GGS_TRIAL_OUTCOMES, // how many there are
};
extern const char * const ggs_trial_outcome_words[GGS_TRIAL_OUTCOMES]; // "done", "failed", "out of memory"

struct ggs_trial {
    unsigned               variant, round;
    enum ggs_trial_outcome outcome;
    int                    status;                    // of the program; 128 + signal
    double                 others;                    // share of the CPUs that others used; negative: not known
    bool                   busy;                      // more than usual, and repeating it did not help
    double                 seconds;                   // that the trial took, recording included
    double                 values[GGS_TRIAL_FIGURES]; // NaN: not seen
    char                   said[GGS_TRIAL_SAID];      // first line that was written to stderr: the cause, if it failed
};

struct ggs_trials_settings {
    const char * folder;    // for recordings
    bool         keep;      // them; else each goes once its figures are read
    bool         tolerates; // a program that fails is a result; else it is an error
    uint64_t     seed;      // of the order
    // Before and after each trial: settings of the machine, progress, a journal. `after` may add
    // variants, which join the next round. Negative: fails; positive from `after`: enough, the round
    // ends.
    int (*before)(void * context, const struct ggs_variant * variant, struct ggs_error * error);
    // A trial that is done has its recording here; unless it is kept, it goes afterwards.
    int (*recorded)(void * context, const struct ggs_trial * trial, const char * directory, struct ggs_error * error);
    int (*after)(void * context, const struct ggs_trial * trial, struct ggs_error * error);
    void * context;
};

// Signals that end programs are held from here on, until ggs_trials_free().
int  ggs_trials_new(struct ggs_trials ** trials, const struct ggs_trials_settings * settings, struct ggs_error * error);
void ggs_trials_free(struct ggs_trials * trials); // NULL is fine

// Returns its number, or a negative status.
int ggs_trials_add(struct ggs_trials * trials, const struct ggs_variant * variant, struct ggs_error * error);
// Tries it no further; its figures stay.
void ggs_trials_retire(struct ggs_trials * trials, unsigned variant);
// A trial of before, which is not tried again: what continues has its journal.
int ggs_trials_know(struct ggs_trials * trials, const struct ggs_trial * trial, struct ggs_error * error);

// One more round. 0: it is complete; 1: a signal or `after` ended it.
int ggs_trials_round(struct ggs_trials * trials, struct ggs_error * error);
// The signal that came, 0 for none.
int ggs_trials_stopped(const struct ggs_trials * trials);

// ---- what came of it, at any time ----

const struct ggs_trial * ggs_trials_list(const struct ggs_trials * trials, unsigned * n);

// The values of a figure in trials that are done, by round; returns how many. `values` has room for
// `most`.
unsigned ggs_trials_values(const struct ggs_trials * trials, unsigned variant, unsigned figure, double * values,
                           unsigned most);
// B's median by A's, over rounds in which both are done.
struct ggs_ratio ggs_trials_ratio(const struct ggs_trials * trials, unsigned a, unsigned b, unsigned figure);
double           ggs_trials_median(const struct ggs_trials * trials, unsigned variant, unsigned figure);

// True if further rounds would hardly change the answer whether A and B differ in this figure: after
// five rounds, the 99 % interval of B/A leaves out 1 and lies beyond the control's, or lies within
// 1 +- `same`. The interval is wider than that of a result because it is looked at after each round.
bool ggs_trials_decided(const struct ggs_trials * trials, unsigned a, unsigned b, unsigned control, unsigned figure,
                        double same);

// Other load: trials that were repeated because of it, and those that stayed busy.
struct ggs_trials_load {
    unsigned repeated, busy;
    double   most; // share of the CPUs that others used at most, in trials that count
};
struct ggs_trials_load ggs_trials_load(const struct ggs_trials * trials);
