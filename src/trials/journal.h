// The journal of a study: a line of JSON per finished trial, in order of their ends.
//
//     {"variant":0,"round":0,"run":"runs/v01-001","outcome":"done","status":0,"seconds":1.2,
//      "others":0.03,"busy":false,"figures":{"tokens_per_s":12.5,...}}
//
// Variants count from 0; the number after the last is the control. A line is written once its
// recording is complete, and is synced before the next trial begins. A truncated line is ignored.
#pragma once

#include <stdbool.h>

#include "trials/trials.h"

bool ggs_journal_exists(const char * study); // true if it exists and has a line

struct ggs_journal {
    int fd;
};
// Reads the existing trials and opens the journal for appending. `read_only`: does not open it.
// Lines with larger numbers of variants or rounds are refused, because they belong to another plan.
int  ggs_journal_open(struct ggs_journal * journal, const char * study, struct ggs_trials * trials, unsigned variants,
                      unsigned rounds, bool read_only, struct ggs_error * error);
int  ggs_journal_add(const struct ggs_journal * journal, const struct ggs_trial * trial, const char * run,
                     struct ggs_error * error);
void ggs_journal_clear(const struct ggs_journal * journal); // deletes all lines
void ggs_journal_close(struct ggs_journal * journal);
