// One trial: records or runs the program of a variant once and reads its figures. For trials.c.
#pragma once

#include "trials/child.h"
#include "trials/trials.h"

// `directory`: for the recording. `log`: an empty private file. Fills in outcome, status, others,
// seconds, values and said. Fails if the trial cannot start, if the recording is unreadable, and on
// a signal; a failing program is an outcome, and `said` has its reason.
int ggs_attempt(struct ggs_halt * halt, const struct ggs_variant * variant, const char * directory, int log,
                struct ggs_trial * trial, struct ggs_error * error);

// Removes a recording and everything below it.
void ggs_attempt_remove(const char * directory);
