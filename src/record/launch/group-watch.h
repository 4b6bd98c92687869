// Tells whether a signal was sent to our whole process group, so that a program in it has it too,
// or to us alone.
//
// A signal does not say: kill(2) of a process and of a group look alike. So a small process in our
// group, under another name, records the signals it gets: whoever signals the group (kill -INT
// -PID, timeout(1), a service manager that signals every process) reaches it too.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { GGS_WATCHED_SIGNALS = 65 };

struct ggs_group_watch {
    pid_t      process;                       // 0 for none: every signal is for us alone
    uint64_t * seen;                          // by signal: when it last came, CLOCK_MONOTONIC
    uint64_t   matched[GGS_WATCHED_SIGNALS];  // the last one matched with ours
    uint64_t   expected[GGS_WATCHED_SIGNALS]; // until then ours is expected
};

// Best effort: without it every signal counts as for us alone.
void ggs_group_watch_start(struct ggs_group_watch * watch);
// Call it once per signal that came to us. It waits a few hundredths of a second before it returns
// false: timeout(1) signals its child first, and its group after that.
bool ggs_group_watch_had(struct ggs_group_watch * watch, int signal);
void ggs_group_watch_stop(struct ggs_group_watch * watch);
