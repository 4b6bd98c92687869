// Finds which remedies of `explain` make a program faster, together and each.
//
// The program is recorded once and explained. All remedies that are options of its command line are
// applied at once, and each is left out in turn, because one alone may only help with another.
// These variants and the program against itself are tried in rounds (trials/trials.h).
#pragma once

#include "analyze/explain/tuned.h"
#include "trials/trials.h"

enum ggs_tune_goal { GGS_TUNE_ALL, GGS_TUNE_PROMPT, GGS_TUNE_GENERATE, GGS_TUNE_GOALS };

struct ggs_tune_options {
    char * const *     program; // NULL at the end
    unsigned           n;
    const char *       folder; // empty folder for recordings
    enum ggs_tune_goal goal;
    unsigned           rounds;                       // maximum
    double             seconds;                      // no round begins after this time
    bool               lossy;                        // also settings that change the output
    void (*tell)(void * context, const char * text); // progress, one sentence per call
    void * context;
};

int ggs_tune(struct ggs_tuned * tuned, const struct ggs_tune_options * options, struct ggs_error * error);
