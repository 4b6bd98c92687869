// What a study has tried: a line of JSON for each trial that has ended, in the order in which they
// ended.
//
//     {"variant":0,"round":0,"run":"runs/v01-001","outcome":"done","status":0,"seconds":1.2,
//      "others":0.03,"busy":false,"figures":{"tokens_per_s":12.5,...}}
//
// Variants count from 0; the one behind the last is the control. A line is written once its
// recording is whole, and reaches the disk before the next trial begins. A line that was cut off is
// as if it were not there.
#pragma once

#include <stdbool.h>

#include "trials/trials.h"

bool ggs_journal_exists(const char * study); // and has a line

struct ggs_journal {
    int fd;
};
// Reads what is there into the trials, and opens it to go on. `read_only`: opens nothing. Lines of
// variants or rounds from these numbers on are refused: they belong to another plan.
int  ggs_journal_open(struct ggs_journal * journal, const char * study, struct ggs_trials * trials, unsigned variants,
                      unsigned rounds, bool read_only, struct ggs_error * error);
int  ggs_journal_add(const struct ggs_journal * journal, const struct ggs_trial * trial, const char * run,
                     struct ggs_error * error);
void ggs_journal_clear(const struct ggs_journal * journal); // forgets all lines
void ggs_journal_close(struct ggs_journal * journal);
