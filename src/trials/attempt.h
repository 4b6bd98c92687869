// One trial: records or runs the program of a variant once, and reads its figures. For trials.c.
#pragma once

#include "trials/child.h"
#include "trials/trials.h"

// `directory` is where the recording goes, `log` an empty file of our own. Fills in outcome, status,
// others, seconds, values and said. Fails if it cannot be tried at all, if the recording cannot be read,
// and if a signal came; a program that fails is an outcome, and `said` has its reason.
int ggs_attempt(struct ggs_halt * halt, const struct ggs_variant * variant, const char * directory, int log,
                struct ggs_trial * trial, struct ggs_error * error);

// Removes a recording and everything below it.
void ggs_attempt_remove(const char * directory);
