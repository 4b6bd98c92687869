// Finds settings that make a program faster.
//
// The program is recorded once and explained. Remedies that are options of its command line, and
// knobs that may matter without a finding (trials/tune-knobs.h), are searched (trials/search.h). A
// round of the search is a round of trials (trials/trials.h).
#pragma once

#include "analyze/explain/tuned.h"
#include "trials/knob.h"
#include "trials/trials.h"

enum ggs_tune_goal { GGS_TUNE_ALL, GGS_TUNE_PROMPT, GGS_TUNE_GENERATE, GGS_TUNE_SERVER, GGS_TUNE_LOAD, GGS_TUNE_GOALS };

struct ggs_tune_options {
    char * const *              program; // NULL at the end
    unsigned                    n;
    const char *                folder; // empty; recordings go there
    enum ggs_tune_goal          goal;
    unsigned                    rounds;  // at most
    double                      seconds; // no run begins after that
    bool                        lossy;   // include settings that change the output
    const char *                replay;  // GGS_TUNE_SERVER: replay this recording; NULL: built-in
    const struct ggs_own_knob * knobs;   // defined by the user
    unsigned                    n_knobs;
    void (*progress)(void * context, const char * text);               // one sentence each
    void (*advanced)(void * context, unsigned done, unsigned planned); // after each run; planned: a guess
    void * context;
};

int ggs_tune(struct ggs_tuned * tuned, const struct ggs_tune_options * options, struct ggs_error * error);
