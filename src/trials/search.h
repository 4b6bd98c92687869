// Finds the fastest setting of several knobs in few runs. It knows neither programs nor clocks: the
// caller measures settings.
//
//     struct ggs_search search = {.n_knobs = 2, .rounds = 12, .measure = run_each_once, ...};
//     ggs_search_run(&search, error);
//     search.best.value[0] ...
//
// A setting has one value of every knob. The search begins at the setting with all remedies, and
// compares it with settings that differ in one knob: the program's own value (a remedy may bring
// nothing) and the neighbours of ordered values. The better ones move the search; it ends when no
// neighbour is better. The setting found is then compared with the program's own, round by round,
// until the difference is clear.
//
// A round runs each of its settings once, and each is compared with the current one of its round. A
// value that is clearly worse is not tried again; one that is not clear is tried in up to three
// rounds. Runs of one setting, which are repeated anyway, are the control: they tell the noise.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/diff/sample.h"

struct ggs_error;

enum { GGS_SEARCH_KNOBS = 16, GGS_SEARCH_VALUES = 20, GGS_SEARCH_TRIES = 3, GGS_SEARCH_RUNS = 900 };

struct ggs_search_knob {
    unsigned n;       // values
    unsigned start;   // value of the program
    unsigned remedy;  // value to begin with; `start` for none
    bool     ordered; // values are numbers that rise
    bool     each;    // try every value
    double   bound;   // most that it can gain, as a share of the time
};

struct ggs_search_setting {
    uint8_t value[GGS_SEARCH_KNOBS];
};

// A value of a knob, compared with the current value of that knob.
struct ggs_search_effect {
    unsigned n;
    double   log[GGS_SEARCH_TRIES]; // of time with it / time with the current one
    bool     rejected, failed;      // failed: the program ended
};

struct ggs_search {
    struct ggs_search_knob knob[GGS_SEARCH_KNOBS];
    unsigned               n_knobs;
    unsigned               rounds; // most comparisons of the same two settings
    double                 first;  // time of the first run of the program; NaN if not known
    double                 others; // share of the CPUs that other programs use: noise, if nothing is known of it
    // Runs each setting once, in an order that it chooses. NaN: not run; infinity: the program
    // failed. Returns 0, 1 to end the search, or a negative status.
    int (*measure)(void * context, const struct ggs_search_setting * settings, unsigned n, double * times,
                   struct ggs_error * error);
    void * context;

    // The result, valid at any time. The best setting may be no better than the program's own.
    struct ggs_search_setting best;
    struct ggs_search_effect  effect[GGS_SEARCH_KNOBS][GGS_SEARCH_VALUES];
    bool                      settled[GGS_SEARCH_KNOBS]; // its remedy brought nothing
    double                    moved;                     // effects of all moves
    bool                      stopped;                   // by `measure`
    bool                      failed;                    // all remedies together end the program
    unsigned                  n_rounds, n_runs;          // `first` is no round
    struct ggs_search_run {
        struct ggs_search_setting setting;
        unsigned                  round;
        double                    time;
    } run[GGS_SEARCH_RUNS];
};

int ggs_search_run(struct ggs_search * search, struct ggs_error * error);

// The setting of the program.
struct ggs_search_setting ggs_search_start(const struct ggs_search * search);
// Standard deviation of the logarithm of the time of one setting.
double ggs_search_noise(const struct ggs_search * search);
// Time of the best setting / time of the program's own. With fewer than three common rounds the
// interval is the range of what was seen.
struct ggs_ratio ggs_search_gain(const struct ggs_search * search);
// True if that is less than 1 by 2 % and by more than noise.
bool ggs_search_is_better(const struct ggs_search * search);
// The program's runs / its other runs.
struct ggs_ratio ggs_search_control(const struct ggs_search * search);
// Time with this value / time with the value of the best setting, all else being as it is.
struct ggs_ratio ggs_search_ratio(const struct ggs_search * search, unsigned knob, unsigned value);
