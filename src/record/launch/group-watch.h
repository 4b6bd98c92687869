// Was a signal sent to our whole process group? Then a program in it has it already; else it was
// for us alone.
//
// Nothing of a signal tells: kill(2) of a process and of a group look alike. So a small process
// sits in our group, under another name, and notes what reaches it: whoever signals the group (kill
// -INT -PID, timeout(1), a service manager that signals every process) reaches it too.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { GGS_WATCHED_SIGNALS = 65 };

struct ggs_group_watch {
    pid_t      process;                       // 0: there is none, and every signal is for us alone
    uint64_t * seen;                          // by signal: when it last came there, CLOCK_MONOTONIC
    uint64_t   matched[GGS_WATCHED_SIGNALS];  // of these, with one of ours
    uint64_t   expected[GGS_WATCHED_SIGNALS]; // until then: ours is still to come
};

// Best effort: without it everything counts as for us alone.
void ggs_group_watch_start(struct ggs_group_watch * watch);
// Asked once for each signal that came to us. Waits a few hundredths of a second before it says no:
// timeout(1) signals its child first, then the group.
bool ggs_group_watch_had(struct ggs_group_watch * watch, int signal);
void ggs_group_watch_stop(struct ggs_group_watch * watch);
