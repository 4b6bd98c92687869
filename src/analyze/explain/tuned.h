// The result of tuning (trials/tune.h).
#pragma once

#include "analyze/diff/sample.h"
#include "analyze/explain/explain.h"

enum { GGS_TUNE_PARTS = 8, GGS_TUNE_VALUES = 32, GGS_TUNE_COMMAND = 8192 };

// One value of a knob of the program's own, alone.
struct ggs_tune_value {
    char             said[128]; // in the words of the program
    unsigned         knob;      // index of the user's knobs
    unsigned         variant;
    struct ggs_ratio ratio; // its time over that of the unchanged program
    bool             failed;
};

// One remedy.
struct ggs_tune_part {
    struct ggs_knob_setting setting;
    char                    said[128];   // in the words of the program
    char                    name[32];    // of the knob
    char                    finding[32]; // its cause; "" for a knob of the user
    unsigned                variant;     // all parts but this one
    struct ggs_ratio        without;     // time without it over the time with all
    bool                    kept;        // in the best setting
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
    bool                  better;                    // beyond noise
    bool                  stopped;                   // by a signal or the time
    bool                  same_output;               // as the unchanged program's
    bool                  failed;                    // all remedies together end the program
    char                  said[400];                 // why
    unsigned              lossy_left_out;            // remedies that change the output
    unsigned              repeated, busy;            // runs, because of other programs
    char                  command[GGS_TUNE_COMMAND]; // the best, or ""
};
