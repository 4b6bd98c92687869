// Finds which remedies of `explain` make a program faster, together and each.
//
// The program is recorded once and explained. All remedies that are options of its command line are
// applied at once, and each is left out in turn, because one may pay only together with another.
// These variants and the program itself, as a control, are tried in rounds (trials/trials.h).
// Values of the user's knobs are tried alone first; the best of each knob, if it is any better,
// becomes one more remedy.
#pragma once

#include "analyze/explain/tuned.h"
#include "trials/knob.h"
#include "trials/trials.h"

enum ggs_tune_goal { GGS_TUNE_ALL, GGS_TUNE_PROMPT, GGS_TUNE_GENERATE, GGS_TUNE_SERVER, GGS_TUNE_GOALS };

struct ggs_tune_options {
    char * const *              program; // NULL at the end
    unsigned                    n;
    const char *                folder; // empty; recordings go there
    enum ggs_tune_goal          goal;
    unsigned                    rounds;  // at most
    double                      seconds; // no round begins after that
    bool                        lossy;   // include settings that change the output
    const char *                replay;  // GGS_TUNE_SERVER: replay this recording; NULL: built-in
    const struct ggs_own_knob * knobs;   // defined by the user
    unsigned                    n_knobs;
    void (*progress)(void * context, const char * text); // progress, one sentence each
    void * context;
};

int ggs_tune(struct ggs_tuned * tuned, const struct ggs_tune_options * options, struct ggs_error * error);
