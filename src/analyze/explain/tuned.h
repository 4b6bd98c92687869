// The result of tuning (trials/tune.h).
#pragma once

#include "analyze/diff/sample.h"
#include "analyze/explain/explain.h"

enum { GGS_TUNE_PARTS = 16, GGS_TUNE_VALUES = 64, GGS_TUNE_COMMAND = 8192 };

// One value of a knob that was tried.
struct ggs_tune_value {
    char             said[128]; // in the words of the program
    struct ggs_ratio ratio;     // its time over that of the program's own value, all else being equal
    bool             failed;    // it ends the program
};

// One knob with a remedy, or with a better value.
struct ggs_tune_part {
    char             said[128];   // in the words of the program
    char             name[32];    // of the knob
    char             finding[32]; // that names the remedy; "" for none
    struct ggs_ratio without;     // time with the program's own value over the time with this one
    bool             kept;        // in the best setting
};

struct ggs_tuned {
    struct ggs_tune_part  part[GGS_TUNE_PARTS];
    unsigned              n;
    struct ggs_tune_value value[GGS_TUNE_VALUES];
    unsigned              n_values;
    unsigned              rounds, runs;
    const char *          figure;                    // the deciding one: "token_quiet_ns"
    struct ggs_ratio      ratio;                     // time of the best setting over the original
    struct ggs_ratio      control;                   // of the program against itself
    double                noise;                     // smaller differences cannot be told apart
    bool                  better;                    // beyond noise
    bool                  stopped;                   // by a signal or the time
    bool                  same_output;               // as the unchanged program's
    bool                  repeatable;                // the unchanged program's output is always the same
    bool                  failed;                    // all remedies together end the program
    char                  said[400];                 // why
    unsigned              lossy_left_out;            // remedies that change the output
    unsigned              repeated, busy;            // runs, because of other programs
    double                others;                    // most of the CPUs that these used, as a share
    char                  command[GGS_TUNE_COMMAND]; // the best, or ""
};
